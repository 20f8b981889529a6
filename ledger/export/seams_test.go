package export

// WriteTableOn is WriteTable on a disk whose changes may fail.
var WriteTableOn = writeTable
