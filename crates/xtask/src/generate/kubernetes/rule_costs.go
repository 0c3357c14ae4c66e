// Prints what the rules of custom resource definitions cost.
package main

import (
	"bufio"
	"encoding/json"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

type definition struct {
	Name    string          `json:"name"`
	Version string          `json:"version"`
	Schema  json.RawMessage `json:"schema"`
	Rules   []ruleCost      `json:"rules"`
}

type ruleCost struct {
	Path        string `json:"path"`
	Cost        uint64 `json:"cost"`
	Cardinality uint64 `json:"cardinality"`
	Message     uint64 `json:"message,omitempty"`
	OldSelf     bool   `json:"oldSelf,omitempty"`
	Error       string `json:"error,omitempty"`
}

// writeRuleCosts computes the costs of a recording again.
func writeRuleCosts(out *bufio.Writer, input string) {
	base := environment.MustBaseEnvSet(version.MajorMinor(1, 36))
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, line := range lines(input) {
		var d definition
		must(json.Unmarshal([]byte(line), &d))
		structural := structuralSchema(d.Schema)
		d.Rules = ruleCosts(structural, model.SchemaDeclType(structural, true), "", base, nil)
		must(encoder.Encode(d))
	}
}

func structuralSchema(text []byte) *schema.Structural {
	var external v1.JSONSchemaProps
	must(json.Unmarshal(text, &external))
	var internal apiextensions.JSONSchemaProps
	must(v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil))
	structural, err := schema.NewStructural(&internal)
	must(err)
	return structural
}

func ruleCosts(s *schema.Structural, decl *apiservercel.DeclType, path string, base *environment.EnvSet, rules []ruleCost) []ruleCost {
	if len(s.XValidations) > 0 && decl != nil {
		results, err := schemacel.Compile(s, decl, 1000000, base, schemacel.NewExpressionsEnvLoader())
		must(err)
		for _, r := range results {
			c := ruleCost{Path: path, Cost: r.MaxCost, Cardinality: r.MaxCardinality, Message: r.MessageExpressionMaxCost, OldSelf: r.UsesOldSelf}
			if r.Error != nil {
				c.Error = r.Error.Detail
			}
			rules = append(rules, c)
		}
	}
	names := []string{}
	for name := range s.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		property := s.Properties[name]
		var inner *apiservercel.DeclType
		if escaped, ok := apiservercel.Escape(name); ok && decl != nil {
			if f, ok := decl.Fields[escaped]; ok {
				inner = f.Type
			}
		}
		if inner != nil {
			rules = ruleCosts(&property, inner, path+"."+name, base, rules)
		}
	}
	if decl != nil && decl.ElemType != nil {
		if s.Items != nil {
			rules = ruleCosts(s.Items, decl.ElemType, path+"[]", base, rules)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
			rules = ruleCosts(s.AdditionalProperties.Structural, decl.ElemType, path+"{}", base, rules)
		}
	}
	return rules
}
