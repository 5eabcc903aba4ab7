; What code safety reads of JavaScript. `scan.rs` says what the names of the captures stand for.

[(comment) (html_comment)] @comment
[(string_fragment) (regex_pattern) (jsx_text)] @text

(import_statement source: (string (string_fragment) @import))
(export_statement source: (string (string_fragment) @import))
(call_expression function: [(identifier) (import)] @_load arguments: (arguments . (string (string_fragment) @import))
  (#any-of? @_load "require" "import"))

; A module that is not known before the code runs, and `require` as a value.
(call_expression function: [(identifier) (import)] @computed
  arguments: (arguments . [(identifier) (binary_expression) (template_string) (call_expression) (member_expression)
    (subscript_expression) (ternary_expression) (await_expression) (parenthesized_expression)])
  (#any-of? @computed "require" "import"))
(variable_declarator value: (identifier) @computed (#eq? @computed "require"))
(arguments (identifier) @computed (#eq? @computed "require"))
(assignment_expression right: (identifier) @computed (#eq? @computed "require"))

; The constants that a module is bound to, and the names taken from it.
(variable_declarator name: (identifier) @alias
  value: (call_expression function: (identifier) @_load arguments: (arguments . (string (string_fragment) @aliased)))
  (#eq? @_load "require"))
(import_statement (import_clause [(identifier) @alias (namespace_import (identifier) @alias)])
  source: (string (string_fragment) @aliased))
(import_statement (import_clause (named_imports (import_specifier name: (identifier) @imported)))
  source: (string (string_fragment) @from))

[(identifier) (shorthand_property_identifier)] @name
(member_expression property: (property_identifier) @member)
(subscript_expression index: (string (string_fragment) @member))
(formal_parameters (identifier) @other)
(import_specifier (identifier) @other)
(import_clause (identifier) @other)

(member_expression object: (identifier) property: (property_identifier)) @path
(member_expression object: (member_expression object: (identifier) property: (property_identifier))
  property: (property_identifier)) @path
