//! Rules for calls whose danger is in their arguments.

use mgp_types::mgp::SafetyLevel::{Standard, Strict};

use super::Check;
use super::member::is_walk;
use super::names::{ENDLESS_CONSUMERS, MOVERS, POWERFUL, READABLE, READERS, SET_NEVER};
use super::resolve::is_namespace;
use crate::code_safety::identifier::plain;
use crate::code_safety::path_text;
use crate::code_safety::syntax::Node;

impl<'t> Check<'_, 't> {
    pub(super) fn call(&mut self, node: Node<'t>) {
        let Some(function) = node.field("function") else { return };
        let paths = self.code.paths(function);
        for path in paths.iter() {
            self.call_of(path, node);
        }
        for path in self.code.paths(node).iter().filter(|path| !path.ends_with("()")) {
            self.path(path, node.at());
        }
        if function.kind() == "attribute" {
            self.method(function, node);
        }
    }

    /// Checks for calls that switch off a protection of connections, templates or parsers.
    pub(super) fn exposure(&mut self, node: Node<'t>) {
        let Some(function) = node.field("function") else { return };
        let paths = self.code.paths(function);
        for path in paths.iter() {
            let root = path.split('.').next().unwrap_or(path);
            let switched = SWITCHES.iter().find(|(of, name, value)| {
                (*of == root || **of == **path)
                    && keyword(node, name).is_some_and(|found| found.kind() == *value)
            });
            if let Some((_, name, _)) = switched {
                self.findings.pattern(Strict, &format!("{path}({name}="), node.at());
            }
            if root == "urllib" || root == "urllib2" {
                let url = positional(node).next().and_then(|url| self.code.text(url));
                if url.is_some_and(|url| url.trim_start().to_lowercase().starts_with("file:")) {
                    self.findings.pattern(Strict, path, node.at());
                }
            }
        }
    }

    fn call_of(&mut self, path: &str, node: Node<'t>) {
        let at = node.at();
        match path {
            "builtins.getattr" | "builtins.setattr" | "builtins.delattr" | "builtins.hasattr" => {
                self.access(path, node);
            }
            "operator.attrgetter" | "operator.methodcaller" => self.getter(path, node),
            "builtins.type" | "builtins.type()" if self.makes_class(node) => {
                self.findings.pattern(Strict, "type(", at);
            }
            "builtins.type.__call__" if positional(node).count() == 4 => {
                self.findings.pattern(Strict, "type(", at);
            }
            "types.FunctionType" | "types.LambdaType" => self.findings.pattern(Strict, path, at),
            "builtins.globals" | "builtins.locals" | "builtins.vars" => self.namespace(path, node),
            "yaml.load" | "yaml.load_all" if !node.text().contains("SafeLoader") => {
                self.findings.pattern(Standard, path, at);
            }
            // These functions read strings as code.
            "sympy.sympify" | "sympy.S" | "sympy.lambdify" | "sympy.parsing.sympy_parser.parse_expr"
                if positional(node)
                    .filter_map(|text| self.code.text(text))
                    .any(|text| text.contains("__")) =>
            {
                self.findings.pattern(Strict, path, at);
            }
            "torch.load" if keyword(node, "weights_only").is_none_or(|value| value.text() != "True") => {
                self.findings.pattern(Standard, path, at);
            }
            "numpy.load" if keyword(node, "allow_pickle").is_some_and(|value| value.text() != "False") => {
                self.findings.pattern(Standard, path, at);
            }
            "builtins.open" | "io.open" if positional(node).next().is_some_and(is_number) => {
                self.findings.pattern(Strict, "open(", at);
            }
            "builtins.exit" | "builtins.quit" | "builtins.dir"
                if positional(node).next().is_none_or(|_| path != "builtins.dir")
                    && self.code.scopes.is_outermost(node) =>
            {
                let is_statement = node.parent().is_some_and(|parent| {
                    parent.kind() == "expression_statement"
                        && parent.parent().is_some_and(|around| around.kind() == "module")
                });
                if is_statement || path == "builtins.dir" {
                    let name = path.strip_prefix("builtins.").unwrap_or(path);
                    self.findings.pattern(Strict, &format!("{name}("), at);
                }
            }
            path if MOVERS.contains(path) && self.is_fixed(node) => {
                self.findings.pattern(Strict, path, at);
            }
            "os.chmod" | "os.fchmod" => self.mode(path, node),
            "builtins.range" | "builtins.bytes" | "builtins.bytearray" => self.size(path, MAX_STEPS, node),
            path if ENDLESS_CONSUMERS.contains(path) => self.endless_source(path, node),
            "sys.path.insert" | "sys.path.append" | "sys.path.extend" => {
                let is_own = node.text().contains("__file__") || node.text().contains("getcwd");
                if !is_own
                    && positional(node).any(|argument| {
                        self.code.text(argument).is_some_and(|text| path_text::is_of_system(&text))
                    })
                {
                    self.findings.pattern(Strict, path, at);
                }
            }
            _ => {}
        }
        let reads = READERS.contains(path)
            || (path.starts_with("os.") && !path.starts_with("os.path."))
            || path.starts_with("shutil.");
        let of_system = positional(node)
            .next()
            .or_else(|| keyword(node, "file"))
            .and_then(|argument| self.code.text(argument))
            .is_some_and(|text| path_text::is_of_system(&text) || path_text::is_flag(&text));
        if !path.contains('(') && self.writes_elsewhere(path, node) {
            self.findings.pattern(Strict, path, at);
        }
        if reads && of_system && !path.starts_with("os.environ") && path != "os.getenv" {
            let shown =
                path.strip_prefix("builtins.").map_or_else(|| path.to_owned(), |name| format!("{name}("));
            self.findings.pattern(Strict, &shown, at);
        }
    }

    fn method(&mut self, function: Node<'t>, node: Node<'t>) {
        let name = function.field("attribute").map(|name| plain(name.text())).unwrap_or_default();
        match &*name {
            "extractall"
                if keyword(node, "filter").is_none_or(|filter| filter.text().contains("trusted")) =>
            {
                self.findings.pattern(Strict, "extractall(", node.at());
            }
            "chmod" => self.mode("chmod", node),
            "create_connection"
            | "create_server"
            | "create_unix_server"
            | "create_unix_connection"
            | "create_datagram_endpoint"
            | "sock_connect"
            | "enable_load_extension"
            | "load_extension" => {
                self.findings.pattern(Strict, &format!("{name}("), node.at());
            }
            "load" | "load_all"
                if keyword(node, "Loader").is_some_and(|loader| !loader.text().contains("Safe")) =>
            {
                self.findings.pattern(Standard, &format!("{name}("), node.at());
            }
            "query" | "eval" => {
                let text = positional(node).next().and_then(|text| self.code.text(text));
                if text.is_some_and(|text| reaches_out(&text)) {
                    self.findings.pattern(Strict, &format!("{name}("), node.at());
                }
            }
            "ljust" | "rjust" | "center" | "zfill" => self.size(&name, MAX_WIDTH, node),
            "__getattribute__" | "__getattr__" | "__setattr__" | "__delattr__" => {
                for argument in positional(node) {
                    if let Some(text) = self.code.text(argument).filter(|text| is_walk(text)) {
                        self.findings.pattern(Standard, &text, node.at());
                    }
                }
            }
            _ => {}
        }
    }

    /// Checks `getattr` and similar calls: the name decides, or if it is not known, the object.
    fn access(&mut self, path: &str, node: Node<'t>) {
        let mut arguments = positional(node);
        let (Some(object), Some(name)) = (arguments.next(), arguments.next()) else { return };
        if let Some(name) = self.code.text(name) {
            let name = plain(&name);
            let is_read_only = path == "builtins.hasattr";
            let has_default = name == "__class__" && arguments.next().is_some();
            if !is_read_only && is_walk(&name) && !READABLE.contains(&name) && !has_default {
                self.findings.pattern(Standard, &name, node.at());
            }
            return;
        }
        let is_asked =
            name.field("function").is_some_and(|function| self.code.is(function, "builtins.input"));
        let is_powerful = |path: &str| POWERFUL.contains(path) || path.starts_with("builtins.__");
        let is_bare = matches!(
            object.kind(),
            "tuple" | "list" | "dictionary" | "string" | "integer" | "none" | "lambda"
        );
        if is_bare || is_asked || self.code.paths(object).iter().any(|path| is_powerful(path)) {
            let shown = path.strip_prefix("builtins.").unwrap_or(path);
            self.findings.pattern(Strict, &format!("{shown}("), node.at());
        }
    }

    fn getter(&mut self, path: &str, node: Node<'t>) {
        for argument in positional(node).filter(|argument| argument.kind() != "list_splat") {
            match self.code.text(argument) {
                Some(text) => {
                    if let Some(walk) = text.split('.').find(|part| is_walk(&plain(part))) {
                        self.findings.pattern(Standard, walk, node.at());
                    }
                }
                None if path == "operator.attrgetter" => self.findings.pattern(Strict, path, node.at()),
                None => {}
            }
        }
    }

    /// Checks the use of a module's names as a dictionary, which is allowed with a known key, and for filling in
    /// strings.
    fn namespace(&mut self, path: &str, node: Node<'t>) {
        let name = path.strip_prefix("builtins.").unwrap_or(path);
        let of = positional(node).next();
        if let Some(of) = of {
            if self.code.paths(of).iter().any(|path| POWERFUL.contains(path)) {
                self.findings.pattern(Standard, &format!("{name}("), node.at());
            }
            return;
        }
        // The namespace of a function has only the names that the function made itself.
        if name != "globals" && !self.code.scopes.is_outermost(node) {
            return;
        }
        let Some(parent) = node.parent() else { return };
        let is_known = match parent.kind() {
            "subscript" => parent.field("subscript").is_some_and(|key| self.code.text(key).is_some()),
            "attribute" => {
                let call = parent.parent().filter(|call| call.kind() == "call");
                let key = call.and_then(|call| positional(call).next()).and_then(|key| self.code.text(key));
                parent.field("attribute").is_some_and(|name| name.text() == "get") && key.is_some()
            }
            "comparison_operator" => true,
            "binary_operator" | "dictionary_splat" => name != "globals",
            _ => false,
        };
        if !is_known || (parent.kind() == "subscript" && is_namespace(path)) {
            self.findings.pattern(Strict, &format!("{name}("), node.at());
        }
    }

    /// Returns whether a call makes a new class with a known name, rather than one like another.
    fn makes_class(&self, node: Node<'t>) -> bool {
        positional(node).count() == 3
            && positional(node).next().is_some_and(|name| self.code.text(name).is_some())
    }

    /// Returns whether the subject of a call is written in the code, rather than chosen by the caller of its function.
    fn is_fixed(&self, node: Node<'t>) -> bool {
        self.code.scopes.is_outermost(node)
            || positional(node).any(|argument| self.code.text(argument).is_some())
    }

    /// Checks for strings and loops of a length that only uses up memory or time.
    fn size(&mut self, path: &str, limit: f64, node: Node<'t>) {
        if positional(node).filter_map(|argument| self.code.number(argument)).any(|number| number > limit) {
            let name = path.strip_prefix("builtins.").unwrap_or(path);
            self.findings.pattern(Strict, &format!("{name}("), node.at());
        }
    }

    /// Checks for file modes that give rights to everyone, or the owner's rights to everyone who runs the file.
    fn mode(&mut self, path: &str, node: Node<'t>) {
        let modes = positional(node).chain(keyword(node, "mode")).filter_map(|mode| self.code.number(mode));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
        let is_open = |mode: f64| (0.0..65536.0).contains(&mode) && (mode as u32) & 0o6002 != 0;
        if modes.into_iter().any(is_open) {
            self.findings.pattern(Strict, path, node.at());
        }
    }

    /// Checks a decorator, which is a call: `@print` above `@input` above a class asks for a line and prints it.
    pub(super) fn decorator(&mut self, node: Node<'t>) {
        let Some(name) = node.named_children().next() else { return };
        for path in
            self.code.paths(name).iter().filter(|path| path.starts_with("builtins.") && !path.contains('('))
        {
            self.findings.pattern(Strict, &format!("@{}", name.text()), name.at());
            self.path(path, name.at());
        }
    }

    /// Checks attributes that are set or deleted rather than read.
    pub(super) fn assignment(&mut self, node: Node<'t>) {
        let targets = node
            .field("left")
            .into_iter()
            .chain(node.named_children().filter(|_| node.kind() == "delete_statement"));
        for target in targets {
            if target.text() == "__builtins__" {
                self.findings.pattern(Strict, "__builtins__", target.at());
            }
            if target.kind() != "attribute" {
                continue;
            }
            let paths = self.code.paths(target);
            let is_shared =
                |path: &str| !path.contains('(') && SET_NEVER.iter().any(|root| path.starts_with(root));
            let hook = paths.iter().find(|path| is_shared(path));
            if let Some(path) = hook {
                self.findings.pattern(Strict, path, target.at());
            }
        }
    }
}

/// Returns the positional arguments of a call.
pub(super) fn positional(call: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let arguments = call.field("arguments").filter(|arguments| arguments.kind() == "argument_list");
    arguments
        .into_iter()
        .flat_map(Node::named_children)
        .filter(|argument| argument.kind() != "keyword_argument")
}

/// Returns the argument of a call with this name.
pub(super) fn keyword<'t>(call: Node<'t>, name: &str) -> Option<Node<'t>> {
    let arguments = call.field("arguments")?;
    let named = arguments.named_children().filter(|argument| argument.kind() == "keyword_argument");
    named
        .into_iter()
        .find(|argument| argument.field("name").is_some_and(|found| found.text() == name))?
        .field("value")
}

fn is_number(node: Node<'_>) -> bool {
    node.kind() == "integer"
}

/// Returns whether a table expression uses an attribute or a call of a variable of the program, as in `@pd.io.x`, or a
/// dunder name.
fn reaches_out(text: &str) -> bool {
    text.split('@').skip(1).any(|rest| {
        rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
            .trim_start()
            .starts_with(['.', '('])
    }) || text.contains("__")
}

/// The largest width that a string may be padded to, in characters.
const MAX_WIDTH: f64 = 1e8;
/// The largest number that `range`, `bytes` and `bytearray` may be called with.
const MAX_STEPS: f64 = 1e11;

/// The arguments that switch off a protection: a module or function, a named argument, and the syntax kind of its
/// value.
const SWITCHES: &[(&str, &str, &str)] = &[
    ("requests", "verify", "false"),
    ("httpx", "verify", "false"),
    ("jinja2", "autoescape", "false"),
    ("lxml", "resolve_entities", "true"),
    ("flask.Flask().run", "debug", "true"),
];
