package main

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
)

const crowdSyllables = "ba be bi bo bu da de di do du fa fe fi ga ge gi go gu ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po pu ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo wa we za ze zi zo"

// crowdColumns are the columns of the scale lists.
var crowdColumns = []string{"id", "given_name", "surname", "street_number", "address_1", "suburb", "postcode", "birth_date"}

// columns of a crowd row after the id
const (
	colGiven = iota
	colSurname
	colNumber
	colStreet
	colSuburb
	colPostcode
	colBorn
	crowdWidth
)

// crowd makes the two tables of the scale measurement, n rows together, 60 % of
// the second damaged copies of the first.
type crowd struct {
	t              *twister
	given, surname []string
	street         []string
	towns          [][2]string
}

func newCrowd() *crowd {
	c := &crowd{t: seedInt(7)}
	syllables := strings.Fields(crowdSyllables)
	word := func(k int) string { return c.t.wordOf(syllables, k) }
	for i := range 3000 {
		c.given = append(c.given, word(2+i%2))
	}
	for i := range 20000 {
		c.surname = append(c.surname, word(2+i%3))
	}
	suffixes := []string{" street", " road", " avenue", " close", " lane"}
	for range 15000 {
		w := word(3)
		c.street = append(c.street, w+choice(c.t, suffixes))
	}
	for i := range 4000 {
		c.towns = append(c.towns, [2]string{word(3), fmt.Sprint(1000 + i)})
	}
	return c
}

// skewed picks early entries much more often than late ones.
func skewed[T any](t *twister, l []T) T {
	return l[min(int(float64(len(l))*math.Pow(t.random(), 2.2)), len(l)-1)]
}

func (c *crowd) person() [crowdWidth]string {
	t := c.t
	town := skewed(t, c.towns)
	var p [crowdWidth]string
	p[colGiven], p[colSurname] = skewed(t, c.given), skewed(t, c.surname)
	p[colNumber] = fmt.Sprint(t.between(1, 250))
	p[colStreet] = skewed(t, c.street)
	p[colSuburb], p[colPostcode] = town[0], town[1]
	year, month, day := t.between(1930, 2008), t.between(1, 12), t.between(1, 28)
	p[colBorn] = fmt.Sprintf("%d-%02d-%02d", year, month, day)
	return p
}

const crowdLetters = "aeioustrn"

func (c *crowd) typo(s string) string {
	if len(s) < 3 {
		return s
	}
	i := c.t.below(len(s) - 1)
	switch k := c.t.random(); {
	case k < .3:
		return s[:i] + s[i+1:i+2] + s[i:i+1] + s[i+2:]
	case k < .6:
		return s[:i] + s[i+1:]
	case k < .8:
		return s[:i] + c.t.letter(crowdLetters) + s[i+1:]
	}
	return s[:i] + c.t.letter(crowdLetters) + s[i:]
}

func (c *crowd) damage(p [crowdWidth]string) [crowdWidth]string {
	t := c.t
	for range choice(t, []int{0, 1, 1, 2, 2, 3}) {
		i := choice(t, []int{colGiven, colSurname, colSurname, colStreet, colStreet, colSuburb, colPostcode, colBorn, colNumber})
		if t.random() < .15 {
			p[i] = ""
			continue
		}
		switch {
		case i == colGiven || i == colSurname || i == colStreet || i == colSuburb:
			p[i] = c.typo(p[i])
		case p[i] == "":
		case i == colBorn:
			p[i] = c.redate(p[i])
		default:
			q := []byte(p[i])
			// The digit is drawn before its place.
			d := t.letter("0123456789")
			q[t.below(len(q))] = d[0]
			p[i] = string(q)
		}
	}
	if t.random() < .03 {
		p[colGiven], p[colSurname] = p[colSurname], p[colGiven]
	}
	return p
}

func (c *crowd) redate(date string) string {
	y, m, d := date[:4], date[5:7], date[8:]
	if d <= "12" && c.t.random() < .4 {
		return y + "-" + d + "-" + m
	}
	return fmt.Sprintf("%s-%s-%02d", y, m, c.t.between(1, 28))
}

// each yields the rows of both tables in the order the reference makes them;
// same tells that the row of b is a copy of the row of a.
func (c *crowd) each(n int, yield func(i int, a, b [crowdWidth]string, same bool) error) error {
	for i := range n / 2 {
		a := c.person()
		same := c.t.random() < .6
		var b [crowdWidth]string
		if same {
			b = c.damage(a)
		} else {
			b = c.person()
		}
		if err := yield(i, a, b, same); err != nil {
			return err
		}
	}
	return nil
}

// writeCSV writes a.csv, b.csv and truth.csv as the reference does.
func (c *crowd) writeCSV(n int, a, b, truth io.Writer) error {
	var writers [3]*csv.Writer
	for k, w := range []io.Writer{a, b, truth} {
		buffered := bufio.NewWriter(w)
		defer buffered.Flush()
		writers[k] = csv.NewWriter(buffered)
		writers[k].UseCRLF = true
		defer writers[k].Flush()
	}
	for k, head := range [][]string{crowdColumns, crowdColumns, {"a_id", "b_id"}} {
		if err := writers[k].Write(head); err != nil {
			return err
		}
	}
	return c.each(n, func(i int, ra, rb [crowdWidth]string, same bool) error {
		if err := writers[0].Write(append([]string{fmt.Sprintf("a%d", i)}, ra[:]...)); err != nil {
			return err
		}
		if err := writers[1].Write(append([]string{fmt.Sprintf("b%d", i)}, rb[:]...)); err != nil || !same {
			return err
		}
		return writers[2].Write([]string{fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)})
	})
}

// lists makes the tables in memory: joined as the person pack reads them, or
// column by column as a trained model does. Values that occur again share their
// bytes, as they would after reading a file with repeated values once.
func (c *crowd) lists(n int, joined bool) *lists {
	record := func(id string, p [crowdWidth]string) *canon.Object {
		if !joined {
			o := canon.Obj("id", id)
			for k, v := range p {
				o.Set(crowdColumns[k+1], v)
			}
			return o
		}
		var address []string
		for _, k := range []int{colNumber, colStreet, colSuburb, colPostcode} {
			if p[k] != "" {
				address = append(address, p[k])
			}
		}
		return canon.Obj("id", id, "name", strings.TrimSpace(p[colGiven]+" "+p[colSurname]), "birth_date", p[colBorn], "address", strings.Join(address, " "))
	}
	out := &lists{}
	_ = c.each(n, func(i int, a, b [crowdWidth]string, same bool) error {
		out.a = append(out.a, record(fmt.Sprintf("a%d", i), a))
		out.b = append(out.b, record(fmt.Sprintf("b%d", i), b))
		if same {
			out.truth = append(out.truth, [2]string{fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)})
		}
		return nil
	})
	return out
}
