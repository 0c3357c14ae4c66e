// Evaluates expressions with cel-go in the environment of Kubernetes, and prints their results and costs.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

type expressionCase struct {
	Expression string          `json:"expression"`
	Schema     json.RawMessage `json:"schema,omitempty"`
	Self       any             `json:"self,omitempty"`
}

type expressionResult struct {
	Expression string          `json:"expression"`
	Schema     json.RawMessage `json:"schema,omitempty"`
	Self       any             `json:"self,omitempty"`
	Issues     string          `json:"issues,omitempty"`
	Type       string          `json:"type,omitempty"`
	Min        uint64          `json:"min"`
	Max        uint64          `json:"max"`
	Program    string          `json:"program,omitempty"`
	Value      string          `json:"value,omitempty"`
	Error      string          `json:"error,omitempty"`
	Cost       uint64          `json:"cost"`
}

type schemaSizes struct{ root *apiservercel.DeclType }

func (c *schemaSizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	if len(element.Path()) == 0 || c.root == nil {
		return nil
	}
	currentNode := c.root
	for _, name := range element.Path()[1:] {
		switch name {
		case "@items", "@values":
			if currentNode.ElemType == nil {
				return nil
			}
			currentNode = currentNode.ElemType
		case "@keys":
			if currentNode.KeyType == nil {
				return nil
			}
			currentNode = currentNode.KeyType
		default:
			field, ok := currentNode.Fields[name]
			if !ok || field.Type == nil {
				return nil
			}
			currentNode = field.Type
		}
	}
	return &checker.SizeEstimate{Min: 0, Max: uint64(currentNode.MaxElements)}
}

func (c *schemaSizes) EstimateCallCost(function, overloadID string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	return nil
}

func evaluateExpression(base *environment.EnvSet, c expressionCase) (r expressionResult) {
	r.Expression, r.Schema, r.Self = c.Expression, c.Schema, c.Self
	var envSet *environment.EnvSet
	var err error
	var self ref.Val
	var decl *apiservercel.DeclType
	if c.Schema != nil {
		structural := structuralSchema(c.Schema)
		decl = model.SchemaDeclType(structural, false)
		scoped := decl.MaybeAssignTypeName("selfType")
		envSet, err = base.Extend(environment.VersionedOptions{
			IntroducedVersion: version.MajorMinor(1, 0),
			EnvOptions:        []cel.EnvOption{cel.Variable("self", scoped.CelType())},
			DeclTypes:         []*apiservercel.DeclType{scoped},
		})
		must(err)
		self = schemacel.UnstructuredToVal(c.Self, structural)
	} else {
		envSet, err = base.Extend(environment.VersionedOptions{
			IntroducedVersion: version.MajorMinor(1, 0),
			EnvOptions:        []cel.EnvOption{cel.Variable("self", cel.DynType)},
		})
		must(err)
		self = types.DefaultTypeAdapter.NativeToValue(c.Self)
		if c.Self == nil {
			self = types.NullValue
		}
	}
	env := envSet.NewExpressionsEnv()
	ast, issues := env.Compile(c.Expression)
	if issues != nil && issues.Err() != nil {
		r.Issues = issues.String()
		return
	}
	r.Type = cel.FormatCELType(ast.OutputType())
	estimator := &library.CostEstimator{SizeEstimator: &schemaSizes{decl}}
	cost, err := env.EstimateCost(ast, estimator)
	must(err)
	r.Min, r.Max = cost.Min, cost.Max
	prog, err := env.Program(ast, cel.CostLimit(1000000), cel.CostTracking(estimator), cel.InterruptCheckFrequency(100))
	if err != nil {
		r.Program = err.Error()
		return
	}
	val, det, err := prog.Eval(map[string]any{"self": self})
	if det != nil && det.ActualCost() != nil {
		r.Cost = *det.ActualCost()
	}
	if err != nil {
		r.Error = err.Error()
		return
	}
	r.Value = showValue(val)
	return
}

func showValue(val ref.Val) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("<%s>", val.Type().TypeName())
		}
	}()
	switch v := val.(type) {
	case apiservercel.Quantity:
		return v.Quantity.String()
	case *apiservercel.Quantity:
		return v.Quantity.String()
	}
	return types.Format(val)
}

func withNumbers(v any) any {
	switch t := v.(type) {
	case json.Number:
		if i, err := t.Int64(); err == nil && !strings.ContainsAny(string(t), ".eE") {
			return i
		}
		f, _ := t.Float64()
		return f
	case map[string]any:
		for k, e := range t {
			t[k] = withNumbers(e)
		}
	case []any:
		for i, e := range t {
			t[i] = withNumbers(e)
		}
	}
	return v
}

// writeExpressions evaluates the expressions of a recording again.
func writeExpressions(out *bufio.Writer, input string) {
	base := environment.MustBaseEnvSet(version.MajorMinor(1, 36))
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, line := range lines(input) {
		var c expressionCase
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.UseNumber()
		must(decoder.Decode(&c))
		c.Self = withNumbers(c.Self)
		must(encoder.Encode(evaluateExpression(base, c)))
	}
}

func lines(path string) []string {
	text, err := os.ReadFile(path)
	must(err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
