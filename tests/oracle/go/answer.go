package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

type verdict string

const (
	allocated  verdict = "allocated"
	impossible verdict = "impossible" // nil and no error
	nodeError  verdict = "nodeError"  // this node cannot, with a text
	podError   verdict = "podError"   // the pod fails on all nodes
	timeout    verdict = "timeout"
	invalid    verdict = "invalid" // not a world
	panicked   verdict = "panicked"
)

// answer says what the allocator made of a world. Where several nodes were tried, Verdict, Error and Allocations are
// those of the first node that could, else of the last one tried.
type answer struct {
	Verdict     verdict                        `json:"verdict"`
	Error       string                         `json:"error,omitempty"`
	Channel     string                         `json:"channel,omitempty"`
	Steps       int64                          `json:"steps"`
	Able        int                            `json:"able"`
	Nanoseconds []int64                        `json:"nanoseconds,omitempty"`
	Allocations []resourceapi.AllocationResult `json:"allocations,omitempty"`
	Selections  []selection                    `json:"selections,omitempty"`
}

func answerTo(w *world, kept caches) (result answer) {
	defer func() {
		if problem := recover(); problem != nil {
			result = answer{Verdict: panicked, Error: fmt.Sprint(problem)}
		}
	}()
	features, err := w.features()
	if err != nil {
		return answer{Verdict: invalid, Error: err.Error()}
	}
	cache := kept.of(features)
	var times []int64
	for range max(w.Rounds, 1) {
		result = tried(w, features, cache)
		times = append(times, result.Nanoseconds...)
		if result.Verdict == timeout {
			break
		}
	}
	result.Nanoseconds = times
	if w.Selections {
		result.Selections = selectionsOf(w, cache)
	}
	return result
}

// tried makes an allocator for one pod and tries every node with it.
func tried(w *world, features structured.Features, cache *cel.Cache) answer {
	ctx, cancel := context.WithTimeout(context.Background(), w.limit())
	defer cancel()
	started := time.Now()
	allocator, err := structured.NewAllocator(ctx, features, w.state(features), listerOf(w.Classes), w.Slices, cache)
	if err != nil {
		return answer{Verdict: podError, Error: err.Error()}
	}
	var result answer
	for _, node := range w.Nodes {
		// The allocator itself looks at the context in its search only, not while it gathers pools.
		if ctx.Err() != nil {
			result.Verdict, result.Error = timeout, ctx.Err().Error()
			break
		}
		found := onNode(ctx, allocator, node, w.Claims)
		if result.Able == 0 {
			found.Able = result.Able
			result = found
		}
		if found.Verdict == allocated {
			result.Able++
		}
		if found.Verdict == podError || found.Verdict == timeout {
			break
		}
	}
	result.Nanoseconds = []int64{time.Since(started).Nanoseconds()}
	result.Steps, result.Channel = statistics(allocator)
	return result
}

func onNode(
	ctx context.Context, allocator structured.Allocator, node *v1.Node, claims []*resourceapi.ResourceClaim,
) answer {
	allocations, err := allocator.Allocate(ctx, node, claims)
	switch {
	case err == nil && allocations == nil && len(claims) > 0:
		return answer{Verdict: impossible}
	case err == nil:
		return answer{Verdict: allocated, Allocations: allocations}
	case ctx.Err() != nil:
		return answer{Verdict: timeout, Error: err.Error()}
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		return answer{Verdict: nodeError, Error: err.Error()}
	default:
		return answer{Verdict: podError, Error: err.Error()}
	}
}

// statistics asks for the number of calls of the recursive search and the variant's name. Both methods return types of
// an internal package, which cannot be named here; the stable variant does not count.
func statistics(allocator structured.Allocator) (steps int64, channel string) {
	value := reflect.ValueOf(allocator)
	if method := value.MethodByName("GetStats"); method.IsValid() {
		steps = method.Call(nil)[0].FieldByName("NumAllocateOneInvocations").Int()
	}
	if method := value.MethodByName("Channel"); method.IsValid() {
		channel = method.Call(nil)[0].String()
	}
	return steps, channel
}
