//! Syntax trees of code, in a form that rules can walk in any direction.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use tree_sitter::{Language, ParseOptions, Parser};

/// The grammars that code can be read with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grammar {
    Python,
    JavaScript,
    TypeScript,
    Tsx,
}

/// A syntax tree as a list of nodes, parents before their children.
///
/// The parser's own tree finds a parent by searching from the root, and is cheap to walk with a cursor only; here every
/// step is one table look-up, so rules can go up and down freely.
pub(super) struct Tree {
    source: String,
    /// The number of bytes of `source` before the submitted code.
    prefix: usize,
    nodes: Vec<Record>,
    pub(super) has_errors: bool,
}

struct Record {
    kind: &'static str,
    /// The field of the parent that the node is in.
    field: Option<&'static str>,
    start: usize,
    end: usize,
    parent: u32,
    /// The index after the last node below this one.
    after: u32,
    named: bool,
    /// True if a child of the node is in a field. It saves a search, because lists of any length are asked for fields
    /// that they do not have.
    has_fields: bool,
}

/// One node of a [`Tree`].
#[derive(Clone, Copy)]
pub(super) struct Node<'t> {
    tree: &'t Tree,
    index: u32,
}

impl Tree {
    /// Parses `prefix`, `code` and `suffix` as one text; `None` if that takes more effort than any real code does.
    pub(super) fn parse(grammar: Grammar, prefix: &str, code: &str, suffix: &str) -> Option<Self> {
        let language = &LANGUAGES[grammar as usize];
        let source = [prefix, code, suffix].concat();
        let tree = PARSER.with_borrow_mut(|parser| {
            // It begins anew with that, even where the last parsing was given up.
            parser.set_language(language).ok()?;
            let mut effort = MIN_EFFORT + source.len();
            let mut progress = |_: &_| {
                effort = effort.saturating_sub(1);
                if effort == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let bytes = source.as_bytes();
            let options = ParseOptions::new().progress_callback(&mut progress);
            parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
        })?;
        let has_errors = tree.root_node().has_error();
        let nodes = flatten(&tree, language);
        Some(Self { source, prefix: prefix.len(), nodes, has_errors })
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns all nodes, parents before their children.
    pub(super) fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        (0..).take(self.nodes.len()).map(|index| Node { tree: self, index })
    }
}

impl<'t> Node<'t> {
    pub(super) fn kind(self) -> &'t str {
        self.record().kind
    }

    pub(super) fn text(self) -> &'t str {
        let record = self.record();
        self.tree.source.get(record.start..record.end).unwrap_or_default()
    }

    /// Returns the byte in the submitted code where the node starts.
    pub(super) fn at(self) -> usize {
        self.record().start.saturating_sub(self.tree.prefix)
    }

    pub(super) fn index(self) -> usize {
        self.index as usize
    }

    /// Returns the field of the parent that the node is in.
    pub(super) fn field_name(self) -> Option<&'t str> {
        self.record().field
    }

    pub(super) fn parent(self) -> Option<Self> {
        (self.index != 0).then(|| Self { index: self.record().parent, ..self })
    }

    /// Returns the parent, its parent, and so on.
    pub(super) fn ancestors(self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), |node| node.parent())
    }

    pub(super) fn children(self) -> impl Iterator<Item = Self> {
        let end = self.record().after;
        let mut next = self.index + 1;
        std::iter::from_fn(move || {
            let child = (next < end).then_some(Self { index: next, ..self })?;
            next = child.record().after;
            Some(child)
        })
    }

    /// Returns the children that are neither punctuation nor comments.
    pub(super) fn named_children(self) -> impl Iterator<Item = Self> {
        self.children().filter(|child| child.record().named && child.kind() != "comment")
    }

    pub(super) fn field(self, name: &str) -> Option<Self> {
        self.record().has_fields.then(|| self.children().find(|child| child.field_name() == Some(name)))?
    }

    /// Returns all nodes below this one, parents before their children.
    pub(super) fn descendants(self) -> impl Iterator<Item = Self> {
        (self.index + 1..self.record().after).map(move |index| Self { index, ..self })
    }

    fn record(self) -> &'t Record {
        &self.tree.nodes[self.index as usize]
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}

/// Facts about nodes, each of which is found out once.
#[derive(Default)]
pub(super) struct Known<F>(RefCell<HashMap<u32, F>>);

impl<F: Clone> Known<F> {
    /// Returns the fact about `node`, which `find` finds out.
    pub(super) fn get(&self, node: Node<'_>, find: impl FnOnce() -> F) -> F {
        if let Some(known) = self.0.borrow().get(&node.index) {
            return known.clone();
        }
        let found = find();
        self.0.borrow_mut().insert(node.index, found.clone());
        found
    }
}

/// The languages of the grammars, in their order. They live as long as the names of their kinds and fields are used.
static LANGUAGES: LazyLock<[Language; 4]> = LazyLock::new(|| {
    [
        tree_sitter_python::LANGUAGE,
        tree_sitter_javascript::LANGUAGE,
        tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        tree_sitter_typescript::LANGUAGE_TSX,
    ]
    .map(Language::new)
});

/// Flattens a tree without recursion, because the depth of the tree is chosen by the author of the code.
fn flatten(tree: &tree_sitter::Tree, language: &'static Language) -> Vec<Record> {
    let mut cursor = tree.walk();
    let mut nodes: Vec<Record> = Vec::new();
    let mut open: Vec<u32> = Vec::new();
    loop {
        let node = cursor.node();
        let index = position(&nodes);
        nodes.push(Record {
            // The number of a node that could not be parsed is beyond all others.
            kind: language.node_kind_for_id(node.kind_id()).unwrap_or("ERROR"),
            field: cursor.field_id().and_then(|id| language.field_name_for_id(id.get())),
            start: node.start_byte(),
            end: node.end_byte(),
            parent: open.last().copied().unwrap_or(0),
            after: index + 1,
            named: node.is_named(),
            has_fields: false,
        });
        if let (Some(_), Some(parent)) = (cursor.field_id(), open.last()) {
            nodes[*parent as usize].has_fields = true;
        }
        if cursor.goto_first_child() {
            open.push(index);
            continue;
        }
        while !cursor.goto_next_sibling() {
            let Some(parent) = open.pop() else { return nodes };
            nodes[parent as usize].after = position(&nodes);
            cursor.goto_parent();
        }
    }
}

/// Returns the position of the next node. The size of code is limited far below the range of the type.
fn position(nodes: &[Record]) -> u32 {
    u32::try_from(nodes.len()).unwrap_or(u32::MAX)
}

thread_local! {
    /// The parser of this thread, for all grammars: a parser is costly to make and cannot be shared.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// The number of times that the parser may report progress, beyond once for each byte; real code needs a fraction of
/// that.
const MIN_EFFORT: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_can_be_walked_up_and_down() {
        let tree = Tree::parse(Grammar::Python, "", "f(a, b)", "").unwrap();
        let call = tree.nodes().find(|node| node.kind() == "call").unwrap();
        let arguments = call.field("arguments").unwrap();
        let names: Vec<_> = arguments.named_children().map(Node::text).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(arguments.parent() == Some(call) && call.ancestors().last() == tree.nodes().next());
        assert!(!tree.has_errors);
    }

    #[test]
    fn places_are_those_of_the_submitted_code() {
        let tree = Tree::parse(Grammar::JavaScript, "class F {", "m() { x() }", "}").unwrap();
        let call = tree.nodes().find(|node| node.kind() == "call_expression").unwrap();
        assert_eq!((call.at(), call.text()), (6, "x()"));
    }
}
