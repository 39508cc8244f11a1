package main

import (
	"fmt"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// world is one question: the cluster as the API server stores it (defaults are not filled in here), the nodes to try,
// and the claims of one pod. Held lists the results of all allocations that exist already.
type world struct {
	Nodes    []*v1.Node                                  `json:"nodes"`
	Slices   []*resourceapi.ResourceSlice                `json:"slices"`
	Classes  []*resourceapi.DeviceClass                  `json:"classes"`
	Claims   []*resourceapi.ResourceClaim                `json:"claims"`
	Held     []resourceapi.DeviceRequestAllocationResult `json:"held"`
	Features []string                                    `json:"features"`

	// LimitMilliseconds bounds each round over the nodes.
	LimitMilliseconds int64 `json:"limitMilliseconds"`
	// Rounds repeats everything, for times. An allocator is made anew in each, as kube-scheduler does for a pod.
	Rounds int `json:"rounds"`
	// Selections asks for what each request selects, apart from any allocation.
	Selections bool `json:"selections"`
}

func (w *world) limit() time.Duration {
	return time.Duration(w.LimitMilliseconds) * time.Millisecond
}

// features turns names of structured.Features' fields into the value.
func (w *world) features() (structured.Features, error) {
	var features structured.Features
	for _, name := range w.Features {
		field := reflect.ValueOf(&features).Elem().FieldByName(name)
		if !field.IsValid() {
			return features, fmt.Errorf("there is no allocator feature %q", name)
		}
		field.SetBool(true)
	}
	return features, nil
}

// state sorts what is held as kube-scheduler's cache does: admin access holds nothing, a share ID makes a share.
func (w *world) state(features structured.Features) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, result := range w.Held {
		if result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		if !features.ConsumableCapacity || result.ShareID == nil {
			state.AllocatedDevices.Insert(id)
			continue
		}
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
		if result.ConsumedCapacity != nil {
			state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
		}
	}
	return state
}

// classLister hands out the classes of a world.
type classLister map[string]*resourceapi.DeviceClass

func listerOf(classes []*resourceapi.DeviceClass) classLister {
	lister := make(classLister, len(classes))
	for _, class := range classes {
		lister[class.Name] = class
	}
	return lister
}

func (c classLister) List() ([]*resourceapi.DeviceClass, error) {
	classes := make([]*resourceapi.DeviceClass, 0, len(c))
	for _, class := range c {
		classes = append(classes, class)
	}
	return classes, nil
}

func (c classLister) Get(name string) (*resourceapi.DeviceClass, error) {
	if class, found := c[name]; found {
		return class, nil
	}
	return nil, fmt.Errorf("deviceclass.resource.k8s.io %q not found", name)
}

// caches keeps compiled expressions across worlds, as a scheduler keeps them across pods.
type caches map[cel.Features]*cel.Cache

// More than kube-scheduler's 10, so that times are those of the search and not of the compiler.
const cachedExpressions = 256

func (c caches) of(features structured.Features) *cel.Cache {
	key := cel.Features{
		EnableConsumableCapacity: features.ConsumableCapacity,
		EnableListTypeAttributes: features.ListTypeAttributes,
	}
	if _, found := c[key]; !found {
		c[key] = cel.NewCache(cachedExpressions, key)
	}
	return c[key]
}
