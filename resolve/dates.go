package resolve

import (
	"unicode/utf8"
)

// date is what a text says about a day: at most two readings where day and
// month can be swapped.
type date struct {
	year      int64
	number    [2]int32 // days since a fixed day, for precision 3
	precision int8     // 0 unreadable, 1 year, 2 year and month, 3 day
	readings  int8
	month     [2]int8
	day       [2]int8
}

// parseDate reads the first three runs of digits; one of them, and only one, is
// a year.
func parseDate(s string) date {
	runs, lengths, n := digitRuns(s)
	if n == 1 && lengths[0] == 8 {
		v := runs[0]
		runs, n = [3]int64{v / 10000, v / 100 % 100, v % 100}, 3
	}
	n = min(n, 3)
	year, others := int64(-1), [2]int64{}
	count := 0
	for _, v := range runs[:n] {
		if v >= 1000 {
			if year >= 0 {
				return date{}
			}
			year = v
			continue
		}
		if count == 2 {
			return date{}
		}
		others[count] = v
		count++
	}
	if year < 0 {
		return date{}
	}
	d := date{year: year, readings: 1}
	switch count {
	case 0:
		d.precision = 1
	case 1:
		if others[0] < 1 || others[0] > 12 {
			return date{}
		}
		d.precision, d.month[0] = 2, int8(others[0])
	default:
		d.readings = 0
		d.read(others[0], others[1])
		if others[0] != others[1] {
			d.read(others[1], others[0])
		}
		if d.readings == 0 {
			return date{}
		}
		d.precision = 3
	}
	return d
}

func (d *date) read(month, day int64) {
	if month < 1 || month > 12 || d.year > 9999 || day < 1 || day > int64(daysIn(int(d.year), int(month))) {
		return
	}
	d.month[d.readings], d.day[d.readings] = int8(month), int8(day)
	d.number[d.readings] = dayNumber(int(d.year), int(month), int(day))
	d.readings++
}

// digitRuns returns the values and lengths of the first three runs of digits of
// any script, and how many runs there are. Values too long for a number are
// kept apart by a mark of their digits.
func digitRuns(s string) (runs [3]int64, lengths [3]int, n int) {
	in := false
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		i += size
		d := digitValue(r)
		if d < 0 {
			in = false
			continue
		}
		if !in {
			in = true
			n++
		}
		if n > 3 {
			continue
		}
		lengths[n-1]++
		if v := &runs[n-1]; *v < 1e17 {
			*v = *v*10 + int64(d)
		} else {
			*v = 1e17 + (*v*31+int64(d)+1)%int64(8e17)
		}
	}
	return runs, lengths, n
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// dayNumber counts days in the Gregorian calendar.
func dayNumber(y, m, d int) int32 {
	if m <= 2 {
		y--
		m += 12
	}
	return int32(365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d)
}

// compareDates is 1 for days that can be the same, 0.35 for a slip of one day,
// month or year, 0 otherwise, nothing when a side is unreadable.
func compareDates(a, b *date) float64 {
	if a.precision == 0 || b.precision == 0 {
		return nothing
	}
	p := min(a.precision, b.precision)
	near := false
	for i := range a.readings {
		for j := range b.readings {
			sameYear := a.year == b.year
			sameMonth := p < 2 || a.month[i] == b.month[j]
			sameDay := p < 3 || a.day[i] == b.day[j]
			if sameYear && sameMonth && sameDay {
				return 1
			}
			if p < 3 {
				continue
			}
			differ := 0
			for _, same := range [...]bool{sameYear, sameMonth, sameDay} {
				if !same {
					differ++
				}
			}
			gap := a.number[i] - b.number[j]
			near = near || differ == 1 || gap >= -1 && gap <= 1
		}
	}
	if near {
		return 0.35
	}
	return 0
}
