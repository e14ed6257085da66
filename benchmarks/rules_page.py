def rendered(f): return ""
