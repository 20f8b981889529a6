package mcpserver

// Version is the version of this program.
var Version = "0.1.0"

// ContractVersion is the version of the published program whose tool contract
// is served; capabilities answers it as arche_core_version.
const ContractVersion = "0.9.0"
