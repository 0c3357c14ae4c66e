// Fills objects with random values, among them zero values, empty values and strings that need escaping.
package main

import (
	"bufio"
	"fmt"
	"math"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

var texts = []string{"", "a", "name", "Äpfel", "<&>\u2028", "日本", "a b", "x\"y\\z", "\xff\xfe", "2026-11-15", "null", "\n\t"}

var jsonTexts = []string{"{}", "null", `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`, `[1,2.5,"x",null,{"a":true}]`, `"text"`, "17", "true", ` { "a" : [ ] } `}

var quantities = []string{"0", "1", "-1", "100m", "1500m", "1.5", "0.001", "1Ki", "64Mi", "1.5Gi", "1000000", "1k", "3e9", "1E", "12345678901234567890", "5n", "0.0000000001", "1024", "9Ei", "1.500"}

func newFiller(seed int64, unset float64) *randfill.Filler {
	filler := randfill.NewWithSeed(seed).NilChance(unset).NumElements(1, 2).MaxDepth(16)
	return filler.Funcs(
		func(value *string, c randfill.Continue) { *value = texts[c.Intn(len(texts))] },
		func(value *int32, c randfill.Continue) { *value = int32(integer(c)) },
		func(value *int64, c randfill.Continue) { *value = integer(c) },
		func(value *float64, c randfill.Continue) {
			*value = []float64{0, 1, -2, 0.5, 1e300, 123.25, 1e20}[c.Intn(7)]
		},
		func(value *[]byte, c randfill.Continue) {
			*value = [][]byte{nil, {}, []byte("bytes"), {0, 255, 7}}[c.Intn(4)]
		},
		func(value *meta.TypeMeta, c randfill.Continue) {},
		func(value *meta.ObjectMeta, c randfill.Continue) {
			c.Fill(&value.Name)
			if c.Intn(8) == 0 {
				c.FillNoCustom(value)
			}
		},
		func(value *meta.Time, c randfill.Continue) {
			if c.Intn(4) > 0 {
				*value = meta.Unix(c.Int63n(1<<33)-1<<31, 0)
			}
		},
		func(value *meta.MicroTime, c randfill.Continue) {
			if c.Intn(4) > 0 {
				*value = meta.UnixMicro(c.Int63n(1<<33)-1<<31, c.Int63n(1e9))
			}
		},
		func(value *meta.FieldsV1, c randfill.Continue) { value.SetRawString(jsonTexts[c.Intn(len(jsonTexts))]) },
		func(value *runtime.RawExtension, c randfill.Continue) {
			if c.Intn(4) > 0 {
				value.Raw = []byte(jsonTexts[c.Intn(len(jsonTexts))])
			}
		},
		func(value *apiextensions.JSON, c randfill.Continue) {
			value.Raw = []byte(jsonTexts[c.Intn(len(jsonTexts))])
		},
		func(value *resource.Quantity, c randfill.Continue) {
			*value = resource.MustParse(quantities[c.Intn(len(quantities))])
		},
		func(value *intstr.IntOrString, c randfill.Continue) {
			*value = intstr.FromInt32(int32(integer(c)))
			if c.Intn(2) == 0 {
				*value = intstr.FromString([]string{"", "25%", "http"}[c.Intn(3)])
			}
		},
	)
}

func integer(c randfill.Continue) int64 {
	return []int64{0, 0, 1, 8080, -1, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, c.Int63()}[c.Intn(10)]
}

// Writes random quantities and their canonical form, or `!` if they do not parse.
func writeQuantities(out *bufio.Writer, seed int64, count int) {
	filler := randfill.NewWithSeed(seed).Funcs(func(value *string, c randfill.Continue) { *value = quantityText(c) })
	for range count {
		var text string
		filler.Fill(&text)
		quantity, err := resource.ParseQuantity(text)
		shown := []byte("!")
		if err == nil {
			shown, err = quantity.MarshalJSON()
			must(err)
		}
		fmt.Fprintf(out, "%s\t%s\n", text, strings.Trim(string(shown), `"`))
	}
}

func quantityText(c randfill.Continue) string {
	one := func(choices ...string) string { return choices[c.Intn(len(choices))] }
	digits := func() string {
		switch c.Intn(4) {
		case 0:
			return one("", "0", "00", "000", "1", "8", "1024", "1048576", "9223372036854775807", "9223372036854775808")
		case 1:
			return fmt.Sprint(c.Int63n(1000))
		case 2:
			return fmt.Sprint(c.Int63n(1000)) + one("0", "000", "000000", "0000000000000")
		}
		return fmt.Sprint(c.Uint64()) + one("", fmt.Sprint(c.Uint64()))
	}
	text := one("", "", "", "-", "+") + one("", "", "0", "00") + digits()
	if c.Intn(2) == 0 {
		text += "." + one("", "0", "00", "000", "000000000") + digits()
	}
	suffix := one("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E4", "e-7", "e+2", "e0", "e-12", "e40", "K", "i", "x", "e", "mm", " ", "e3x", "Ee1", "e4294967299", "e99999999999999999999")
	return text + suffix
}
