; What code safety reads of Python. `scan.rs` says what the names of the captures stand for.

(comment) @comment
(string_content) @text

(import_statement name: (dotted_name) @import)
(import_statement name: (aliased_import name: (dotted_name) @import alias: (identifier) @alias))
(import_from_statement module_name: (_) @from name: (dotted_name) @imported)
(import_from_statement module_name: (_) @from name: (aliased_import name: (dotted_name) @imported alias: (identifier) @alias))
(import_from_statement module_name: (_) @from (wildcard_import) @imported)

; Names that are read, and those that are none of the program's own.
(identifier) @name
(attribute attribute: (identifier) @member)
(keyword_argument name: (identifier) @other)
(dotted_name (identifier) @other)
(aliased_import alias: (identifier) @other)
(parameters (identifier) @other)

; Paths of two and three names.
(attribute object: (identifier) attribute: (identifier)) @path
(attribute object: (attribute object: (identifier) attribute: (identifier)) attribute: (identifier)) @path

; Names of attributes that are given as texts.
(call function: (identifier) @_function arguments: (argument_list . (_) . (string (string_content) @member))
  (#any-of? @_function "getattr" "setattr" "delattr" "hasattr"))
(call function: (identifier) @computed arguments: (argument_list . (_) . [(identifier) (call) (binary_operator) (attribute)])
  (#any-of? @computed "getattr" "setattr" "delattr"))

; Modules and code that are not known before the code runs.
(call function: (attribute attribute: (identifier) @computed) (#eq? @computed "import_module"))

; The mode of a file that is opened: one that is not known may be for writing.
(call function: [(identifier) (attribute)] @_function arguments: (argument_list . (_) . (_) @mode)
  (#match? @_function "(^|\\.)open$"))
(call function: [(identifier) (attribute)] @_function
  arguments: (argument_list (keyword_argument name: (identifier) @_mode value: (_) @mode))
  (#match? @_function "(^|\\.)open$") (#eq? @_mode "mode"))
