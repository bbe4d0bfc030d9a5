"""Where instances come from: generators, trace loaders, tables, transformations and the shipped library."""
