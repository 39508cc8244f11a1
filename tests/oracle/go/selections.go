package main

import (
	"context"
	"regexp"
	stdslices "slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

var readsMoreThanDriver = regexp.MustCompile(`device\.(attributes|capacity|allowMultipleAllocations)`)

// selection says what the selectors of one request, or of one alternative of it, make of every published device:
// those of the class first, each asked only about what the ones before it selected.
type selection struct {
	Claim   int    `json:"claim"`
	Request string `json:"request"`
	// Devices are given as slice and position in the slice.
	Matching [][2]int `json:"matching"`
	Failing  [][2]int `json:"failing,omitempty"`
	// Possible are the drivers that no selector rules out by itself, whatever attributes a device may have.
	Possible []string     `json:"possible,omitempty"`
	Derived  []derivation `json:"derived,omitempty"`
	// Broken names the expression that does not compile, or the missing class.
	Broken string `json:"broken,omitempty"`
}

// derivation says what a derived attribute of a request is for every published device.
type derivation struct {
	Name    string    `json:"name"`
	Values  []derived `json:"values"`
	Failing [][2]int  `json:"failing,omitempty"`
	Broken  bool      `json:"broken,omitempty"`
}

type derived struct {
	Place [2]int                       `json:"place"`
	Value *resourceapi.DeviceAttribute `json:"value"`
}

func selectionsOf(w *world, cache *cel.Cache) []selection {
	var all []selection
	classes := listerOf(w.Classes)
	for number, claim := range w.Claims {
		add := func(
			name, class string, selectors []resourceapi.DeviceSelector, attributes []resourceapi.DeviceDerivedAttribute,
		) {
			found := selection{Claim: number, Request: name, Matching: [][2]int{}}
			if known := classes[class]; known == nil {
				found.Broken = "class " + class
			} else {
				found.judge(w.Slices, append(append([]resourceapi.DeviceSelector{}, known.Spec.Selectors...), selectors...), cache)
			}
			for _, attribute := range attributes {
				found.Derived = append(found.Derived, derivationOf(w.Slices, attribute, cache))
			}
			all = append(all, found)
		}
		for _, request := range claim.Spec.Devices.Requests {
			if request.Exactly != nil {
				exactly := request.Exactly
				add(request.Name, exactly.DeviceClassName, exactly.Selectors, exactly.DerivedAttributes)
			}
			for _, sub := range request.FirstAvailable {
				add(request.Name+"/"+sub.Name, sub.DeviceClassName, sub.Selectors, sub.DerivedAttributes)
			}
		}
	}
	return all
}

func (s *selection) judge(slices []*resourceapi.ResourceSlice, selectors []resourceapi.DeviceSelector, cache *cel.Cache) {
	var programs []cel.CompilationResult
	for _, selector := range selectors {
		if selector.CEL == nil {
			s.Broken = "selector of an unknown kind"
			return
		}
		program := cache.GetOrCompile(selector.CEL.Expression)
		if program.Error != nil {
			s.Broken = selector.CEL.Expression
			return
		}
		programs = append(programs, program)
	}
	for number, slice := range slices {
		if driver := slice.Spec.Driver; isPossible(programs, driver) && !stdslices.Contains(s.Possible, driver) {
			s.Possible = append(s.Possible, driver)
		}
		for position := range slice.Spec.Devices {
			matches, err := matchesAll(programs, slice.Spec.Driver, &slice.Spec.Devices[position])
			switch place := [2]int{number, position}; {
			case err != nil:
				s.Failing = append(s.Failing, place)
			case matches:
				s.Matching = append(s.Matching, place)
			}
		}
	}
}

func matchesAll(programs []cel.CompilationResult, driver string, device *resourceapi.Device) (bool, error) {
	for _, program := range programs {
		matches, _, err := program.DeviceMatches(context.Background(), inputOf(driver, device))
		if err != nil || !matches {
			return false, err
		}
	}
	return true, nil
}

func inputOf(driver string, device *resourceapi.Device) cel.Device {
	return cel.Device{
		Driver:                   driver,
		AllowMultipleAllocations: device.AllowMultipleAllocations,
		Attributes:               device.Attributes,
		Capacity:                 device.Capacity,
	}
}

func derivationOf(
	slices []*resourceapi.ResourceSlice, attribute resourceapi.DeviceDerivedAttribute, cache *cel.Cache,
) derivation {
	found := derivation{Name: string(attribute.Name), Values: []derived{}}
	program := cache.GetOrCompileDerivedAttribute(attribute.Expression)
	if found.Broken = program.Error != nil; found.Broken {
		return found
	}
	for number, slice := range slices {
		for position := range slice.Spec.Devices {
			input := inputOf(slice.Spec.Driver, &slice.Spec.Devices[position])
			value, _, err := program.EvaluateDerivedAttribute(context.Background(), input)
			if place := [2]int{number, position}; err != nil {
				found.Failing = append(found.Failing, place)
			} else {
				found.Values = append(found.Values, derived{Place: place, Value: value})
			}
		}
	}
	return found
}

// isPossible says whether devices of the driver could be selected. Only expressions about nothing but the driver tell.
func isPossible(programs []cel.CompilationResult, driver string) bool {
	for _, program := range programs {
		if readsMoreThanDriver.MatchString(program.Expression) {
			continue
		}
		matches, _, err := program.DeviceMatches(context.Background(), cel.Device{Driver: driver})
		if err == nil && !matches {
			return false
		}
	}
	return true
}
