// Evaluates the health of objects as Argo CD and Flux do: a Lua script in the virtual machine that Argo CD
// uses, and the CEL expressions in Flux's own evaluator. Cases come as JSON on standard input; results
// leave as JSON on standard output, in the same order.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/pkg/apis/kustomize"
	fluxcel "github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type input struct {
	Lua     string            `json:"lua"`
	Exprs   map[string]string `json:"exprs"`
	Objects []json.RawMessage `json:"objects"`
}

type output struct {
	Argo    string `json:"argo"`
	Message string `json:"message"`
	Flux    string `json:"flux"`
}

func main() {
	var in input
	exitOn(json.NewDecoder(os.Stdin).Decode(&in))
	evaluator, err := fluxcel.NewStatusEvaluator(&kustomize.HealthCheckExpressions{
		InProgress: in.Exprs["inProgress"],
		Failed:     in.Exprs["failed"],
		Current:    in.Exprs["current"],
	})
	exitOn(err)
	results := make([]output, 0, len(in.Objects))
	for _, raw := range in.Objects {
		// As the API machinery reads it: whole numbers are int64.
		object := &unstructured.Unstructured{}
		exitOn(object.UnmarshalJSON(raw))
		flux, err := evaluator.Evaluate(context.Background(), object)
		exitOn(err)
		result := output{Flux: flux.Status.String()}
		result.Argo, result.Message = argo(in.Lua, object.Object)
		results = append(results, result)
	}
	exitOn(json.NewEncoder(os.Stdout).Encode(results))
}

// argo runs the script with the libraries that Argo CD opens for health checks.
func argo(script string, object map[string]any) (status, message string) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
	} {
		exitOn(state.CallByParam(
			lua.P{Fn: state.NewFunction(library.open), NRet: 0, Protect: true},
			lua.LString(library.name)))
	}
	state.SetGlobal("obj", value(state, object))
	exitOn(state.DoString(script))
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		exitOn(fmt.Errorf("the script returned %s, not a table", state.Get(-1).Type()))
	}
	return lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message"))
}

// value turns decoded JSON into a value of Lua; all numbers are floating point ones there.
func value(state *lua.LState, from any) lua.LValue {
	switch typed := from.(type) {
	case bool:
		return lua.LBool(typed)
	case float64:
		return lua.LNumber(typed)
	case int64:
		return lua.LNumber(typed)
	case string:
		return lua.LString(typed)
	case []any:
		table := state.CreateTable(len(typed), 0)
		for _, item := range typed {
			table.Append(value(state, item))
		}
		return table
	case map[string]any:
		table := state.CreateTable(0, len(typed))
		for key, item := range typed {
			table.RawSetString(key, value(state, item))
		}
		return table
	}
	return lua.LNil
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
