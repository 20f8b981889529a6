package packs

// ForgetTables drops loaded frequency tables so that loading can be measured.
func ForgetTables() {
	if _, err := tableInfos(); err != nil {
		return
	}
	tables.mu.Lock()
	defer tables.mu.Unlock()
	clear(tables.open)
}
