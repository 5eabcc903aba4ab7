//! Rules as data: patterns of syntax trees that are findings.
//!
//! A rule stands in a text file under the level from which on it applies. Its notation is that of tree-sitter's queries,
//! with what those lack: `(kind|kind #test word… field: (kind) (_))` is a node of one of the kinds, or of any, that
//! passes the tests and has a child for each pattern within. `!` before a pattern asks that no child is like it, `^`
//! that the parent is, `>>` that a node below is, and `[(…) (…)]` takes any of several. The finding is at the node
//! marked with `@`, else at the root, and shows the text in quotes before the rule, or else the code there.
//!
//! A test compares something about a node, in one of three ways: `#name a b` with words, `#name-in list` with lists of
//! names, `#name-like "expression"` with a regular expression. `#not-…` is its opposite. Definitions of words in capitals
//! stand under `[names]`.
//!
//! Unlike a query, whose states add up with the depth of the code, a pattern is compared in time that grows with the
//! number of a node's children only.
//!
//! Beside them stand the rules that all languages share: what the texts in code name, and the words that they are put
//! together to hide.

use std::borrow::Cow;
use std::collections::HashMap;
use std::iter::Peekable;
use std::str::FromStr;
use std::sync::LazyLock;

use mgp_types::mgp::SafetyLevel;
use regex::Regex;

use super::{Findings, Lists, Meaning, Node, Tree, path_text, plain, split_tokens};
use crate::data_file::{Section, expression, sections};
use crate::network::is_metadata_url;

/// Records the findings in `tree`: those of the rules, and those of `more`, which is given each node after them.
pub(super) fn check_nodes<'t, C: Meaning<'t>>(
    tree: &'t Tree,
    code: &C,
    rules: &Rules,
    findings: &mut Findings,
    more: impl Fn(Node<'t>, &mut Findings),
) {
    let mut comparison = Comparison { code, rules, places: Vec::new(), parents: HashMap::new() };
    for node in tree.nodes() {
        comparison.check(node, findings);
        more(node, findings);
        if rules.lists.has("texts", node.kind()) {
            check_text(node, code, rules.lists, findings);
        }
        if matches!(node.kind(), "function_definition" | "function_declaration") && calls_itself(node) {
            findings.pattern(SafetyLevel::Strict, "endless recursion", node.at());
        }
    }
    if code.evaluation().is_exhausted() {
        findings.whole("Code too intricate to be checked: use fewer indirections");
    }
}

/// Checks the text that `node` evaluates to: for secrets that it names, and for a dangerous word of the lists under
/// `[hidden]` that is in the text but not in the code.
pub(super) fn check_text<'t>(
    node: Node<'t>,
    code: &impl Meaning<'t>,
    lists: &Lists,
    findings: &mut Findings,
) {
    // A longer text is judged as a whole.
    let is_part = node.parent().is_some_and(|parent| match parent.kind() {
        "binary_expression" => parent.field("operator").is_some_and(|sign| sign.text() == "+"),
        kind => matches!(kind, "binary_operator" | "concatenated_string"),
    });
    if is_part && matches!(node.kind(), "binary_operator" | "binary_expression" | "concatenated_string") {
        return;
    }
    let Some(text) = code.text(node) else { return };
    if path_text::is_sensitive(&text) || is_metadata_url(&text) {
        findings.pattern(SafetyLevel::Strict, &text, node.at());
    }
    let text = plain(&text);
    let is_danger = |word: &&str| lists.names("hidden").iter().any(|list| lists.has(list, word));
    let word = split_tokens(&text).find(|word| is_danger(word) && !node.text().contains(*word));
    if let Some(word) = word.filter(|word| !is_part && (word.len() == text.len() || word.starts_with('_'))) {
        findings.pattern(SafetyLevel::Strict, word, node.at());
    }
}

/// Returns whether a function calls itself unconditionally.
fn calls_itself(function: Node<'_>) -> bool {
    let (Some(name), Some(body)) = (function.field("name"), function.field("body")) else { return false };
    let plain = body
        .named_children()
        .take_while(|statement| matches!(statement.kind(), "expression_statement" | "return_statement"));
    let mut calls = plain.filter_map(|statement| statement.named_children().next()?.field("function"));
    calls.any(|called| called.kind() == "identifier" && called.text() == name.text())
}

/// The comparison of the nodes of one tree with the patterns of rules.
struct Comparison<'a, 't, C> {
    code: &'a C,
    rules: &'a Rules,
    /// The nodes that the pattern at hand marks.
    places: Vec<Node<'t>>,
    /// The results for the parents of nodes, so that a parent is compared once and not once for each of its children.
    parents: HashMap<(*const RulePattern, usize), bool>,
}

/// The rules of a language.
pub(super) struct Rules {
    all: Vec<CodeRule>,
    /// The indices of the rules that each kind of node may fulfil.
    by_kind: HashMap<&'static str, Vec<usize>>,
    lists: &'static Lists,
}

struct CodeRule {
    level: SafetyLevel,
    /// The text that a finding shows, unless it is the code at its place.
    shown: Option<&'static str>,
    pattern: RulePattern,
}

#[derive(Default)]
struct RulePattern {
    is_negated: bool,
    axis: Axis,
    field: Option<&'static str>,
    is_place: bool,
    /// The kinds of the node; none for any.
    kinds: Vec<&'static str>,
    tests: Vec<NodeTest>,
    parts: Vec<Self>,
    /// The patterns of which one has to hold, in place of all of the above.
    any_of: Vec<Self>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Axis {
    #[default]
    Child,
    Parent,
    Below,
}

struct NodeTest {
    is_negated: bool,
    of: &'static str,
    wanted: Wanted,
}

enum Wanted {
    Words(Vec<&'static str>),
    In(Vec<&'static str>),
    Like(Regex),
}

impl Rules {
    /// Reads the rules in `file`, whose lists are `lists`.
    pub(super) fn read(file: &'static str, lists: &'static Lists) -> Self {
        let mut rules = Self { all: Vec::new(), by_kind: HashMap::new(), lists };
        let mut names: Vec<(&str, String)> = Vec::new();
        for Section { heading, entries } in sections(file) {
            let level = (heading != "names").then(|| SafetyLevel::read(heading));
            for entry in &entries {
                let text = names
                    .iter()
                    .rev()
                    .fold(entry.spaced(), |text, (name, meaning)| text.replace(name, meaning));
                let Some(level) = level else {
                    let (name, _) = entry.line.split_once(" = ").expect("a definition");
                    names.push((name, text[name.len() + 3..].to_owned()));
                    continue;
                };
                let text: &'static str = text.leak();
                let tokens: Vec<_> = TOKEN.find_iter(text).map(|token| token.as_str()).collect();
                let mut tokens = tokens.into_iter().peekable();
                let shown =
                    tokens.next_if(|token| token.starts_with('"')).map(|token| token.trim_matches('"'));
                let pattern = RulePattern::read(&mut tokens);
                for kind in &pattern.kinds {
                    rules.by_kind.entry(kind).or_default().push(rules.all.len());
                }
                rules.all.push(CodeRule { level, shown, pattern });
            }
        }
        rules
    }
}

impl<'t, C: Meaning<'t>> Comparison<'_, 't, C> {
    /// Records the findings of the rules whose root `node` is.
    fn check(&mut self, node: Node<'t>, findings: &mut Findings) {
        let rules = self.rules;
        for index in rules.by_kind.get(node.kind()).into_iter().flatten() {
            let CodeRule { level, shown, pattern } = &rules.all[*index];
            self.places.clear();
            if findings.level < *level || !pattern.finds(node, self) {
                continue;
            }
            if self.places.is_empty() {
                self.places.push(node);
            }
            for place in &self.places {
                let shown = shown.map_or_else(|| describe(*place, self.code), Into::into);
                findings.pattern(*level, &shown, place.at());
            }
        }
    }
}

impl RulePattern {
    fn read(tokens: &mut Tokens) -> Self {
        let mut pattern = Self::default();
        loop {
            match tokens.next().expect("a pattern has an end") {
                "!" => pattern.is_negated = true,
                "^" => pattern.axis = Axis::Parent,
                ">>" => pattern.axis = Axis::Below,
                "@" => pattern.is_place = true,
                "(" => break,
                "[" => {
                    while tokens.next_if_eq(&"]").is_none() {
                        pattern.any_of.push(Self::read(tokens));
                    }
                    return pattern;
                }
                field => pattern.field = Some(field.strip_suffix(':').expect("a field ends with a colon")),
            }
        }
        pattern.kinds =
            tokens.next_if(|token| *token != "_").map_or_else(Vec::new, |kinds| kinds.split('|').collect());
        tokens.next_if_eq(&"_");
        while tokens.next_if_eq(&")").is_none() {
            match tokens.next_if(|token| token.starts_with('#')) {
                Some(name) => pattern.tests.push(NodeTest::read(&name[1..], tokens)),
                None => pattern.parts.push(Self::read(tokens)),
            }
        }
        pattern
    }

    /// Returns whether `node` is like the pattern, and adds the marked nodes to the places if it is.
    fn finds<'t, C: Meaning<'t>>(&self, node: Node<'t>, all: &mut Comparison<'_, 't, C>) -> bool {
        if !self.any_of.is_empty() {
            // Each is asked, because each may mark other places.
            return self.any_of.iter().fold(false, |found, one| found | one.finds(node, all));
        }
        let is_kind = self.kinds.is_empty() || self.kinds.contains(&node.kind());
        if !is_kind || !self.tests.iter().all(|test| test.passes(node, all.code, all.rules.lists)) {
            return false;
        }
        let before = all.places.len();
        all.places.extend(self.is_place.then_some(node));
        for part in &self.parts {
            let is_found = match (part.axis, part.field) {
                (Axis::Parent, _) => node.parent().is_some_and(|parent| {
                    let key = (std::ptr::from_ref(part), parent.index());
                    if let Some(known) = all.parents.get(&key) {
                        return *known;
                    }
                    let marked = all.places.len();
                    let found = part.finds(parent, all);
                    // What marks places is compared again, to mark them again.
                    if all.places.len() == marked {
                        all.parents.insert(key, found);
                    }
                    found
                }),
                (Axis::Below, _) => node.descendants().any(|at| part.finds(at, all)),
                (Axis::Child, None) => {
                    node.named_children().fold(false, |found, at| found | part.finds(at, all))
                }
                (Axis::Child, field) => {
                    let named = node.children().filter(|at| at.field_name() == field);
                    named.fold(false, |found, at| found | part.finds(at, all))
                }
            };
            if is_found == part.is_negated {
                all.places.truncate(before);
                return false;
            }
        }
        true
    }
}

impl NodeTest {
    fn read(name: &'static str, tokens: &mut Tokens) -> Self {
        let of = name.strip_prefix("not-").unwrap_or(name);
        let mut words = Vec::new();
        while let Some(word) = tokens.next_if(|token| is_word(token)) {
            words.push(word.trim_matches('"'));
        }
        let (of, wanted) = match (of.strip_suffix("-in"), of.strip_suffix("like")) {
            (Some(of), _) => (of, Wanted::In(words)),
            (_, Some(of)) => (of.strip_suffix('-').unwrap_or("code"), Wanted::Like(expression(words[0]))),
            _ => (of, Wanted::Words(words)),
        };
        Self { is_negated: name.starts_with("not-"), of, wanted }
    }

    fn number<N: FromStr>(&self) -> Option<N> {
        let Wanted::Words(words) = &self.wanted else { return None };
        words.first()?.parse().ok()
    }

    fn passes<'t>(&self, node: Node<'t>, code: &impl Meaning<'t>, lists: &Lists) -> bool {
        let wanted = |it: &str| self.wanted.has(it, lists);
        let is_so = match self.of {
            "code" => wanted(node.text()),
            "name" => wanted(&plain(node.text())),
            "kind" => wanted(node.kind()),
            "field" => node.field_name().is_some_and(wanted),
            "key" => code.key(node).is_some_and(|key| wanted(&key)),
            "callee" => callee(node).is_some_and(|name| wanted(&name)),
            "path" => code.paths(node).iter().any(|path| wanted(path)),
            "text" => code.text(node).is_some_and(|text| wanted(&text)),
            "words" => code
                .text(node)
                .is_some_and(|text| text.split(['.', '[', ']']).any(|word| wanted(&plain(word)))),
            "known" => code.text(node).is_some(),
            "file" => code.text(node).is_some_and(|text| {
                let of_system = || path_text::is_of_system(&text) || path_text::is_flag(&text);
                wanted("absolute") && path_text::is_absolute(&text) || wanted("system") && of_system()
            }),
            "argument" => {
                let positional = node.parent().into_iter().flat_map(Node::named_children);
                let is_keyword = |it: &Node<'t>| it.kind() == "keyword_argument";
                let mut positional = positional.filter(|it| !is_keyword(it));
                !is_keyword(&node) && self.number().is_some_and(|nth| positional.nth(nth) == Some(node))
            }
            "more" => code.number(node).is_some_and(|it| self.number().is_some_and(|most| it.abs() > most)),
            "open-mode" => code.number(node).is_some_and(is_open_mode),
            "outermost" => code.is_outermost(node),
            "parameter" => code.is_parameter(node),
            "use" => !is_naming(node, lists),
            "literal" => lists.has("literals", inside(node).kind()),
            "always" => is_always(node, code),
            "head" => {
                let siblings = node.parent().into_iter().flat_map(Node::children);
                // Python looks for the encoding in the first two lines.
                siblings.take(2).take_while(|it| it.kind() == "comment").any(|it| it == node)
            }
            other => panic!("there is no test #{other}"),
        };
        is_so != self.is_negated
    }
}

impl Wanted {
    fn has(&self, it: &str, lists: &Lists) -> bool {
        match self {
            Self::Words(words) => words.contains(&it),
            Self::In(names) => names.iter().any(|name| lists.has(name, it)),
            Self::Like(expression) => expression.is_match(it),
        }
    }
}

/// Returns what a finding at `place` shows: the path of a value, as people write it, or the name or code that is there.
fn describe<'t>(place: Node<'t>, code: &impl Meaning<'t>) -> String {
    let is_name = matches!(place.field_name(), Some("attribute" | "property"));
    match code.paths(place).first().filter(|_| !is_name) {
        Some(path) => shown(path),
        None => plain(place.text()).into_owned(),
    }
}

/// Returns the path as people write it: `eval(` for `builtins.eval`.
pub(super) fn shown(path: &str) -> String {
    path.strip_prefix("builtins.").map_or_else(|| path.to_owned(), |name| format!("{name}("))
}

/// Returns the last name of what a call calls.
pub(super) fn callee(call: Node<'_>) -> Option<Cow<'_, str>> {
    let function = call.field("function").or_else(|| call.field("constructor"))?;
    Some(plain(function.field("property").unwrap_or(function).text()))
}

/// Returns whether an identifier gives something a name, rather than standing for a value.
pub(super) fn is_naming(node: Node<'_>, lists: &Lists) -> bool {
    node.parent().is_some_and(|parent| {
        let in_field = || {
            node.field_name().is_some_and(|field| lists.has("naming", &format!("{}.{field}", parent.kind())))
        };
        lists.has("naming", parent.kind()) || in_field()
    }) && node.kind().contains("identifier")
}

/// Returns the expression within parentheses.
fn inside(mut node: Node<'_>) -> Node<'_> {
    while node.kind() == "parenthesized_expression"
        && let Some(inner) = node.named_children().next()
    {
        node = inner;
    }
    node
}

/// Returns whether a condition always holds.
fn is_always<'t>(condition: Node<'t>, code: &impl Meaning<'t>) -> bool {
    let condition = inside(condition);
    match condition.kind() {
        "true" | "object" | "array" | "empty_statement" | ";" => true,
        "not_operator" | "unary_expression" => {
            let never = |of: Node<'t>| {
                matches!(of.kind(), "false" | "none" | "null" | "undefined") || code.number(of) == Some(0.0)
            };
            condition.text().starts_with(['n', '!']) && condition.field("argument").is_some_and(never)
        }
        "string" => code.text(condition).is_some_and(|text| !text.is_empty()),
        _ => code.number(condition).is_some_and(|number| number.abs() > 0.0),
    }
}

/// Returns whether the mode of a file gives rights to everyone, or the owner's rights to everyone who runs the file.
fn is_open_mode(mode: f64) -> bool {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
    let bits = if (0.0..65536.0).contains(&mode) { mode as u32 } else { 0 };
    bits & 0o6002 != 0
}

type Tokens = Peekable<std::vec::IntoIter<&'static str>>;

/// Returns whether a token is a word of the test before it.
fn is_word(token: &str) -> bool {
    !token.starts_with(['#', '(', ')', '[', ']', '!', '^', '@', '>']) && !token.ends_with(':')
}

static TOKEN: LazyLock<Regex> = LazyLock::new(|| expression(r#""[^"]*"|[()\[\]!^@]|>>|[^\s()\[\]!^@"]+"#));

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::meaning::{Evaluation, Paths};
    use super::super::syntax::Grammar;
    use super::*;

    /// Code of which nothing is known, and the number of times that its paths were asked for.
    struct Counted(Evaluation, Cell<usize>);

    impl<'t> Meaning<'t> for Counted {
        const NAMES_KEEP_NUMBERS: bool = false;

        fn evaluation(&self) -> &Evaluation {
            &self.0
        }

        fn value(&self, _: Node<'t>) -> Option<Node<'t>> {
            None
        }

        fn paths(&self, _: Node<'t>) -> Paths {
            self.1.set(self.1.get() + 1);
            Paths::default()
        }
    }

    #[test]
    fn a_parent_is_compared_once_for_all_of_its_children() {
        let lists: &Lists = Box::leak(Box::new(Lists::read("")));
        let rules = Rules::read("[strict]\n(identifier ^(argument_list (identifier #path a)))\n", lists);
        let tree = Tree::parse(Grammar::Python, "", &format!("f({})", "a, ".repeat(100)), "").unwrap();
        let code = Counted(Evaluation::of(&tree), Cell::new(0));
        let mut comparison =
            Comparison { code: &code, rules: &rules, places: Vec::new(), parents: HashMap::new() };
        for node in tree.nodes() {
            comparison.check(node, &mut Findings::new(SafetyLevel::Strict));
        }
        assert_eq!(code.1.get(), 100);
    }
}
