// Prints the Go types of built-in objects: which fields encoding/json reads and writes, and when it omits them.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"sort"
	"strings"
)

// Letters of types that implement json.Marshaler.
var marshalers = map[string]string{
	"meta/v1.Time":                                  "t",
	"meta/v1.MicroTime":                             "m",
	"meta/v1.FieldsV1":                              "r",
	"pkg/runtime.RawExtension":                      "r",
	"api/resource.Quantity":                         "q",
	"util/intstr.IntOrString":                       "x",
	"apiextensions/v1.JSON":                         "r",
	"apiextensions/v1.JSONSchemaPropsOrBool":        "o@JSONSchemaProps",
	"apiextensions/v1.JSONSchemaPropsOrArray":       "o@JSONSchemaProps",
	"apiextensions/v1.JSONSchemaPropsOrStringArray": "o@JSONSchemaProps",
}

var scalars = map[reflect.Kind]string{
	reflect.String: "s", reflect.Int32: "i", reflect.Int64: "l", reflect.Bool: "b", reflect.Float64: "f",
}

const legend = `# The Go structs of the stable API versions, one per line: NAME, then its fields as NAME:FLAGS TYPE.
# Flags: ^Embedded^ belongs to an embedded struct, ? omitempty, ~ omitzero, * pointer.
# Types: s string, i int32, l int64, b bool, f float64, y []byte, t Time, m MicroTime, q Quantity, x IntOrString,
# r raw JSON, [ slice, { map, @ struct, o struct or something simpler. Parentheses hold the name of a defined type.
`

type typeWriter struct {
	lines map[string]string
}

func writeTypes(out *bufio.Writer) {
	writer := typeWriter{map[string]string{}}
	for _, kind := range kinds(knownScheme()) {
		if isServed(kind) {
			writer.add(kind.goType)
		}
	}
	fmt.Fprint(out, legend)
	names := make([]string, 0, len(writer.lines))
	for name := range writer.lines {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(out, "%s%s\n", name, writer.lines[name])
	}
}

// Reports whether a kind is of a stable version, which are the ones that are served by default.
func isServed(kind kind) bool {
	version := path.Base(kind.apiVersion)
	return (version == "v1" || version == "v2") && !strings.HasSuffix(kind.name, "List") && !strings.HasSuffix(kind.name, "Options")
}

// Returns the last two elements of the package path and the name: `core/v1.Pod`.
func qualifiedName(goType reflect.Type) string {
	pkg := goType.PkgPath()
	return path.Base(path.Dir(pkg)) + "/" + path.Base(pkg) + "." + goType.Name()
}

func (writer *typeWriter) add(goType reflect.Type) {
	name := qualifiedName(goType)
	if _, known := writer.lines[name]; known {
		return
	}
	writer.lines[name] = "" // Types refer to themselves.
	writer.lines[name] = writer.fields(goType, goType, "")
}

// Returns the fields of a struct. Those of embedded structs follow the names of these.
func (writer *typeWriter) fields(owner, goType reflect.Type, embedding string) string {
	var line strings.Builder
	for index := range goType.NumField() {
		field := goType.Field(index)
		name, flags, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case field.Anonymous && name == "":
			inner := embedding
			if field.Name != "TypeMeta" {
				inner += "^" + field.Name + "^"
			}
			line.WriteString(writer.fields(owner, field.Type, inner))
		case name == "":
			fail("%s.%s has no JSON name", goType, field.Name)
		default:
			fmt.Fprintf(&line, " %s:%s%s", name, embedding, writer.field(owner, field, flags))
		}
	}
	return line.String()
}

func (writer *typeWriter) field(owner reflect.Type, field reflect.StructField, flags string) string {
	mark := ""
	if hasFlag(flags, "omitempty") {
		mark += "?"
	}
	if hasFlag(flags, "omitzero") {
		mark += "~"
	}
	goType := field.Type
	if goType.Kind() == reflect.Pointer {
		mark += "*"
		goType = goType.Elem()
	}
	return mark + writer.typeOf(owner, goType)
}

func (writer *typeWriter) typeOf(owner, goType reflect.Type) string {
	if letter, known := marshalers[qualifiedName(goType)]; known {
		return letter
	}
	if goType.Name() != "" && reflect.PointerTo(goType).Implements(reflect.TypeFor[json.Marshaler]()) {
		fail("%s implements json.Marshaler", goType)
	}
	if goType.Kind() == reflect.Struct {
		writer.add(goType)
		name := qualifiedName(goType)
		if goType.PkgPath() == owner.PkgPath() {
			name = goType.Name()
		}
		return "@" + name
	}
	named := ""
	if goType.PkgPath() != "" {
		named = "(" + goType.String() + ")"
	}
	switch goType.Kind() {
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			return "y" + named
		}
		return "[" + named + writer.typeOf(owner, goType.Elem())
	case reflect.Map:
		return "{" + named + writer.typeOf(owner, goType.Elem())
	}
	letter, known := scalars[goType.Kind()]
	if !known {
		fail("%s has no letter", goType)
	}
	return letter + named
}
