package main

// What the reference's own generators draw and write.

var textDraws = []int{6, 107, 6, 1, 0, 3, 4, 5, 2, 1}

const (
	orgA       = "6e1519a8a894782dbdc63a5f5dd54e3289e97195dd41f1a7f745f0f3ef7ebd70"
	orgB       = "e4b0ede31f698646509f6e836bd9bab294e671d2a1ee65ea1df4fdbf29b27867"
	orgTruth   = "fa160636916cb7bb1b25aa36ecd427d73d12bf2a570dca7cbe9e1517d6eca720"
	personA    = "29848f8a517e0097ad1331b31961f5d1e4d94e4ce1666caa645078671138bdc1"
	personB    = "116cb3bbe8a49bbb16c3c3d0b4e91196457a868ead31bf02c29f598fdf8e4f87"
	scaleA     = "b0c2897fb218c0e2d9aa1296dbe40853e4434ae72127fe53b79b35cef5f646e9"
	scaleB     = "6276fb780d925eb8230efc7bbc9bf17bb7c0688258ef06cacedb5d46bab86b77"
	scaleTruth = "27b970386efc1ba8790f91800ac7a8ffea64964ed06c62fbd23f4a878647628e"
)

var supplierNames = []string{
	"Gunevada Zisefa Foods Ltd|0700000000",
	"Rokabo Panode Exporters Ltd|0700000001",
	"Sipada Ketoto Mills Ltd|0700000002",
	"Central Da Exporters Ltd|0700000003",
	"Nogusefi Sizivohi Traders Ltd|0700000004",
	"Mofasi Sodati Exporters Ltd|0700000005",
	"Vosepayo Rataramo Foods Ltd|0700000006",
	"United Wa Traders Ltd|0700000007",
}
