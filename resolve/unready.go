package resolve

func compareNamesV2(a, b string) (float64, error) { return compareNames(a, b) }
