package ledger

// LoadProjections makes a ledger take its state from the projection tables
// however short its log is.
func (l *Ledger) LoadProjections() { l.verified = -1 }

// Glimpse makes a ledger answer about one decision without the whole state,
// however short its log is, and forgets the state.
func (l *Ledger) Glimpse() { l.glimpse, l.glimpses, l.state = 0, 0, nil }
