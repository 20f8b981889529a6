package service

import "embed"

// pageFiles is the page over the ledger. It asks the routes of this service
// and shows what they answer, as text, never as markup.
//
//go:embed page
var pageFiles embed.FS
