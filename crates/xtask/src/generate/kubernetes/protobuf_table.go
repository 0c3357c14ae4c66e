// The table of protobuf messages: the number, JSON name and type of each field, and when JSON omits it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strconv"
	"strings"
)

// Types that implement json.Marshaler.
var forms = map[string]string{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                                             "time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                                        "microtime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                                         "raw",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                                          "raw",
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                                         "quantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":                                       "intorstring",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":                         "json",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool":        "orbool",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray":       "orlist",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "orlist",
}

// Messages whose fields have no struct tags.
var hidden = map[string][]string{
	"time":      {"1 seconds int64", "2 nanos int32"},
	"microtime": {"1 seconds int64", "2 nanos int32"},
	"quantity":  {"1 string *string"},
	"items":     {"1 items []string"},
}

type message struct {
	name, form string
	fields     []string
}

type table struct {
	messages []*message
	byType   map[reflect.Type]*message
	names    map[string]bool
}

func writeTable(out *bufio.Writer) {
	known := kinds(knownScheme())
	facts := table{byType: map[reflect.Type]*message{}, names: map[string]bool{}}
	for _, kind := range known {
		facts.message(kind.goType)
	}
	same := facts.fold()
	apiVersion := ""
	for _, kind := range known {
		if kind.apiVersion != apiVersion {
			apiVersion = kind.apiVersion
			fmt.Fprintf(out, "@%s\n", apiVersion)
		}
		name := same[facts.byType[kind.goType].name]
		if name != kind.name {
			name = kind.name + " " + name
		}
		fmt.Fprintln(out, name)
	}
	fmt.Fprintln(out, "@")
	for _, message := range facts.messages {
		fmt.Fprintln(out, strings.TrimSpace(message.name+" "+message.form))
		for _, field := range message.fields {
			fmt.Fprintf(out, " %s\n", field)
		}
	}
}

// Returns the message of a Go type. The name is chosen before the fields are visited, since types refer to themselves.
func (facts *table) message(goType reflect.Type) *message {
	if found, seen := facts.byType[goType]; seen {
		return found
	}
	found := &message{name: facts.freeName(goType)}
	facts.byType[goType] = found
	facts.messages = append(facts.messages, found)
	found.form = forms[goType.PkgPath()+"."+goType.Name()]
	if goType.Kind() == reflect.Slice && goType.Elem().Kind() == reflect.String {
		found.form = "items"
	}
	if fields, known := hidden[found.form]; known {
		found.fields = fields
		return found
	}
	if found.form == "" && reflect.PointerTo(goType).Implements(reflect.TypeFor[json.Marshaler]()) {
		fail("%s implements json.Marshaler", goType)
	}
	if goType.Kind() != reflect.Struct || !hasProtobuf(goType) {
		fail("%s is not a message", goType)
	}
	for index := range goType.NumField() {
		if line := facts.field(goType, goType.Field(index), found.form); line != "" {
			found.fields = append(found.fields, line)
		}
	}
	return found
}

func (facts *table) freeName(goType reflect.Type) string {
	name := goType.Name()
	version := path.Base(goType.PkgPath())
	group := path.Base(path.Dir(goType.PkgPath()))
	for _, longer := range []string{name, group + "." + name, group + "." + version + "." + name} {
		if !facts.names[longer] {
			facts.names[longer] = true
			return longer
		}
	}
	fail("no free name for %s", goType)
	return ""
}

func (facts *table) field(owner reflect.Type, field reflect.StructField, form string) string {
	tag := field.Tag.Get("protobuf")
	name, flags, _ := strings.Cut(field.Tag.Get("json"), ",")
	omitEmpty, omitZero := hasFlag(flags, "omitempty"), hasFlag(flags, "omitzero")
	if hasFlag(flags, "string") {
		fail("%s.%s has the JSON option string", owner, field.Name)
	}
	if tag == "" || tag == "-" {
		if name == "-" || field.Name == "TypeMeta" && field.Anonymous || field.Name == "Object" && form == "raw" {
			return ""
		}
		fail("%s.%s is in JSON but not in protobuf", owner, field.Name)
	}
	number, err := strconv.Atoi(strings.Split(tag, ",")[1])
	must(err)
	shape, base := facts.typeOf(field.Type)
	isStruct := shape == "" && field.Type.Kind() == reflect.Struct
	switch {
	case form != "":
		return fmt.Sprintf("%d %s %s%s", number, strings.ToLower(field.Name), shape, base)
	case field.Anonymous && name == "":
		if !isStruct {
			fail("%s.%s is embedded but not a struct", owner, field.Name)
		}
		return fmt.Sprintf("%d + %s", number, base)
	case name == "-":
		fail("%s.%s is in protobuf but not in JSON", owner, field.Name)
	case name == "":
		name = field.Name
	}
	if omitZero && base != "Time" {
		fail("%s.%s has the JSON option omitzero, which is supported for times only", owner, field.Name)
	}
	omit := ""
	if omitZero || omitEmpty && !isStruct {
		omit = "?"
	}
	return fmt.Sprintf("%d %s %s%s%s", number, name, shape, base, omit)
}

func hasFlag(flags, flag string) bool {
	for _, one := range strings.Split(flags, ",") {
		if one == flag {
			return true
		}
	}
	return false
}

// Returns how a field holds values (pointer, list or map) and the type of one value.
func (facts *table) typeOf(goType reflect.Type) (shape, base string) {
	switch {
	case goType.Kind() == reflect.Pointer:
		_, base := facts.typeOf(goType.Elem())
		return "*", base
	case goType.Kind() == reflect.Slice && hasProtobuf(goType):
		// A message that is a slice in Go; it encodes as null if it is nil, like a pointer.
		return "*", facts.message(goType).name
	case goType.Kind() == reflect.Slice && goType.Elem().Kind() == reflect.Uint8:
		return "", "bytes"
	case goType.Kind() == reflect.Slice:
		return "[]", facts.element(goType.Elem())
	case goType.Kind() == reflect.Map:
		if goType.Key().Kind() != reflect.String {
			fail("the keys of %s are not strings", goType)
		}
		return "{}", facts.element(goType.Elem())
	}
	return "", facts.element(goType)
}

func (facts *table) element(goType reflect.Type) string {
	switch kind := goType.Kind(); kind {
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64:
		return kind.String()
	case reflect.Struct:
		return facts.message(goType).name
	case reflect.Slice:
		if goType.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		if hasProtobuf(goType) {
			return facts.message(goType).name
		}
	}
	fail("%s is not supported", goType)
	return ""
}

// Merges equal messages, which versions of a group share. Returns the name of the kept message for each name.
func (facts *table) fold() map[string]string {
	same := map[string]string{}
	for _, message := range facts.messages {
		same[message.name] = message.name
	}
	for changed := true; changed; {
		changed = false
		seen := map[string]string{}
		var kept []*message
		for _, message := range facts.messages {
			key := message.form + "|" + strings.Join(message.fields, "|")
			if first, known := seen[key]; known {
				changed = true
				for name, stands := range same {
					if stands == message.name {
						same[name] = first
					}
				}
				continue
			}
			seen[key] = message.name
			kept = append(kept, message)
		}
		facts.messages = kept
		for _, message := range facts.messages {
			for index, field := range message.fields {
				message.fields[index] = renamed(field, same)
			}
		}
	}
	return same
}

func renamed(field string, same map[string]string) string {
	cut := strings.LastIndexAny(field, " *]}") + 1
	base := strings.TrimSuffix(field[cut:], "?")
	if stands, known := same[base]; known {
		return field[:cut] + stands + strings.TrimPrefix(field[cut:], base)
	}
	return field
}
