package detect

import (
	"strings"
	"unicode"
)

// checks are the tests a value must pass besides its shape, by the name data
// files give them. Values come without white space and separators, in upper
// case.
var checks = map[string]func(string) bool{
	"luhn":       luhn,
	"ng_nin":     func(s string) bool { return !(s[0] == '0' && s[1] >= '7') },
	"ng_licence": func(s string) bool { return !documentPrefixes[s[:3]] },
	"za_id":      func(s string) bool { return monthDay(s[2:4], s[4:6]) && luhn(s) },
	"rw_nid":     func(s string) bool { return between(s[1:5], 1900, 2030) },
	"eg_nid":     func(s string) bool { return monthDay(s[3:5], s[5:7]) && between(s[7:9], 1, 35) },
	"ssn":        ssn,
	"nino":       nino,
	"nhs":        nhs,
	"steuer_id":  func(s string) bool { return iso7064(s, 10, 11) && steuerDigits(s[:10]) },
	"iso7064":    func(s string) bool { return iso7064(s, 10, 11) },
	"mod97_fr":   nir,
	"mod97_be":   belgian,
	"dni":        dni,
	"cf":         codiceFiscale,
	"bsn":        func(s string) bool { return weighted(s, "98765432", 11, -1) },
	"pesel":      func(s string) bool { return weightedSum(s[:10], "1379137913")%10 == (10-num(s[10:]))%10 },
	"pnr_se":     func(s string) bool { return luhn(s[len(s)-10:]) },
	"fnr_no":     fodselsnummer,
	"cpr":        func(s string) bool { return dayMonth(s[:2], s[2:4]) },
	"hetu":       func(s string) bool { return hetuLetters[num(s[:6]+s[len(s)-4:len(s)-1])%31] == s[len(s)-1] },
	"nif_pt":     nifPortugal,
	"pps":        ppsIreland,
	"rc_cz":      func(s string) bool { return len(s) == 9 || num(s)%11 == 0 || num(s[:9])%11 == 10 && s[9] == '0' },
	"cnp":        func(s string) bool { return weightedSum(s[:12], "279146358279")%11%10 == num(s[12:]) },
	"egn":        func(s string) bool { return weighted10(s, []int{2, 4, 8, 5, 10, 9, 7, 3, 6}) },
	"baltic":     balticCode,
	"ahv":        func(s string) bool { return (weightedSum(s[:12], "131313131313")+num(s[12:]))%10 == 0 },
	"verhoeff":   verhoeff,
	"cpf":        func(s string) bool { return cpfDigits(s, 9) && !repeated(s) },
	"cnpj":       func(s string) bool { return cnpjDigits(s) && !repeated(s) },
	"ric_cn":     residentChina,
	"aba":        func(s string) bool { return weightedSum(s, "371371371")%10 == 0 && num(s) > 0 },
	"lettered":   func(s string) bool { return digitsIn(s) < len(s) },
	"mixed":      func(s string) bool { return strings.ContainsAny(s, "0123456789") },
	"not_all":    func(s string) bool { return !repeated(s) },
	"vat":        vatNumber,
	"nin11":      func(s string) bool { return len(s) == 11 && !(s[0] == '0' && s[1] >= '7') },
	"bvn11":      func(s string) bool { return len(s) == 11 && s[:2] == "22" },
	"passport":   func(s string) bool { return len(s) >= 6 && digitsIn(s) >= 4 },
	"account":    func(s string) bool { return len(s) >= 6 && len(s) <= 18 && !repeated(s) },
}

// documentPrefixes begin numbers of documents, not driving licences.
var documentPrefixes = set("ACC BAT DOC INV LOT ORD PMT PRO QUO RCT REF REQ SKU TKT TRX TXN")

const hetuLetters = "0123456789ABCDEFHJKLMNPRSTUVWXY"

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// bare drops everything but ASCII letters and digits and upper-cases.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && is(byte(r), cAlnum) {
			return unicode.ToUpper(r)
		}
		return -1
	}, s)
}

// num reads decimal digits; the callers' shapes keep it within an int.
func num(s string) int {
	n := 0
	for i := range len(s) {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

func between(s string, lo, hi int) bool { n := num(s); return n >= lo && n <= hi }

func monthDay(m, d string) bool { return between(m, 1, 12) && between(d, 1, 31) }

func dayMonth(d, m string) bool { return monthDay(m, d) }

func digitsIn(s string) int {
	n := 0
	for i := range len(s) {
		if is(s[i], cDigit) {
			n++
		}
	}
	return n
}

func repeated(s string) bool { return strings.Count(s, s[:1]) == len(s) }

// luhn is the check of cards and many identifiers.
func luhn(s string) bool {
	sum := 0
	for i := range len(s) {
		d := int(s[len(s)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// weightedSum multiplies digits by the digits of weights.
func weightedSum(s, weights string) int {
	sum := 0
	for i := range len(weights) {
		sum += int(s[i]-'0') * int(weights[i]-'0')
	}
	return sum
}

// weighted tells whether the weighted sum of the leading digits plus last
// times the last digit is a multiple of mod.
func weighted(s, weights string, mod, last int) bool {
	return (weightedSum(s, weights)+last*int(s[len(s)-1]-'0'))%mod == 0 && num(s) > 0
}

func weighted10(s string, weights []int) bool {
	sum := 0
	for i, w := range weights {
		sum += int(s[i]-'0') * w
	}
	return sum%11%10 == int(s[len(weights)]-'0')
}

// iso7064 is the hybrid system of ISO 7064.
func iso7064(s string, m, n int) bool {
	p := m
	for i := range len(s) - 1 {
		t := (int(s[i]-'0') + p) % m
		if t == 0 {
			t = m
		}
		p = t * 2 % n
	}
	return (p+int(s[len(s)-1]-'0'))%m == 1
}

// steuerDigits: of ten digits one stands two or three times, and one or two
// are missing.
func steuerDigits(s string) bool {
	var n [10]int
	for i := range len(s) {
		n[s[i]-'0']++
	}
	twice, thrice := 0, 0
	for _, c := range n {
		switch {
		case c == 2:
			twice++
		case c == 3:
			thrice++
		case c > 3:
			return false
		}
	}
	return twice+thrice == 1 && s[0] != '0'
}

// mod97 reduces letters (A = 10) and digits.
func mod97(s string) int {
	r := 0
	for i := range len(s) {
		if is(s[i], cDigit) {
			r = (r*10 + int(s[i]-'0')) % 97
		} else {
			r = (r*100 + int(s[i]-'A') + 10) % 97
		}
	}
	return r
}

func ssn(s string) bool {
	return s[:3] != "000" && s[:3] != "666" && s[3:5] != "00" && s[5:] != "0000" && s[0] != '9'
}

func nino(s string) bool {
	p := s[:2]
	return !strings.ContainsAny(p, "DFIQUV") && p[1] != 'O' && !strings.Contains("BG GB KN NK NT TN ZZ", p)
}

func nhs(s string) bool {
	sum := 0
	for i := range 9 {
		sum += int(s[i]-'0') * (10 - i)
	}
	c := 11 - sum%11
	return c%11 == int(s[9]-'0') && c != 10 && !repeated(s)
}

// nir is the French social security number; Corsica's letters count as digits.
func nir(s string) bool {
	body, off := s[:13], 0
	if i := strings.IndexAny(body, "AB"); i >= 0 {
		off = map[byte]int{'A': 1000000, 'B': 2000000}[body[i]]
		body = body[:i] + "0" + body[i+1:]
	}
	return 97-(num(body)-off)%97 == num(s[13:])
}

func belgian(s string) bool {
	c := num(s[9:])
	return (97-num(s[:9])%97 == c || 97-num("2"+s[:9])%97 == c) && between(s[2:4], 0, 12) && between(s[4:6], 0, 31)
}

func dni(s string) bool {
	d := s[:len(s)-1]
	if i := strings.IndexByte("XYZ", d[0]); i >= 0 {
		d = string(rune('0'+i)) + d[1:]
	}
	return "TRWAGMYFPDXBNJZSQVHLCKE"[num(d)%23] == s[len(s)-1]
}

func codiceFiscale(s string) bool {
	odd := [...]int{1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23}
	sum := 0
	for i := range 15 {
		v := int(s[i] - '0')
		if is(s[i], cUpper) {
			v = int(s[i] - 'A')
		}
		if i%2 == 0 {
			v = odd[v]
		}
		sum += v
	}
	return byte('A'+sum%26) == s[15]
}

func fodselsnummer(s string) bool {
	k1 := 11 - weightedSum(s[:9], "376189452")%11
	k2 := 11 - weightedSum(s[:10], "5432765432")%11
	return k1%11 == int(s[9]-'0') && k2%11 == int(s[10]-'0') && k1 != 10 && k2 != 10
}

func nifPortugal(s string) bool {
	c := 11 - weightedSum(s[:8], "98765432")%11
	if c > 9 {
		c = 0
	}
	return c == int(s[8]-'0') && s[0] != '0'
}

func ppsIreland(s string) bool {
	sum := weightedSum(s[:7], "8765432")
	if len(s) == 9 && s[8] != 'W' {
		sum += 9 * int(s[8]-'A'+1)
	}
	return "WABCDEFGHIJKLMNOPQRSTUV"[sum%23] == s[7]
}

// balticCode is the personal code of Estonia and Lithuania.
func balticCode(s string) bool {
	c := weightedSum(s[:10], "1234567891") % 11
	if c == 10 {
		c = weightedSum(s[:10], "3456789123") % 11 % 10
	}
	return c == int(s[10]-'0') && monthDay(s[3:5], s[5:7]) && between(s[:1], 1, 6)
}

var (
	verhoeffMul  = [...]string{"0123456789", "1234067895", "2340178956", "3401289567", "4012395678", "5987604321", "6598710432", "7659821043", "8765932104", "9876543210"}
	verhoeffPerm = [...]string{"0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258"}
)

func verhoeff(s string) bool {
	c := byte('0')
	for i := range len(s) {
		d := verhoeffPerm[i%8][s[len(s)-1-i]-'0']
		c = verhoeffMul[c-'0'][d-'0']
	}
	return c == '0' && s[0] > '1'
}

func cpfDigits(s string, n int) bool {
	for k := n; k < n+2; k++ {
		sum := 0
		for i := range k {
			sum += int(s[i]-'0') * (k + 1 - i)
		}
		if sum*10%11%10 != int(s[k]-'0') {
			return false
		}
	}
	return true
}

func cnpjDigits(s string) bool {
	for k := 12; k < 14; k++ {
		c := weightedSum(s[:k], "6543298765432"[13-k:]) % 11
		if c = 11 - c; c > 9 {
			c = 0
		}
		if c != int(s[k]-'0') {
			return false
		}
	}
	return true
}

func residentChina(s string) bool {
	sum := 0
	for i, w := range []int{7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2} {
		sum += int(s[i]-'0') * w
	}
	return "10X98765432"[sum%11] == s[17] && between(s[6:10], 1900, 2100) && monthDay(s[10:12], s[12:14])
}
