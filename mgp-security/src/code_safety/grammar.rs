//! Python and JavaScript, parsed: their imports, names, and texts, as tree-sitter queries find them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};
use std::sync::LazyLock;

use tree_sitter::{Language, ParseOptions, Parser, Query, QueryCursor, StreamingIterator as _, Tree};

use super::plain;

/// A language that code can be read in.
pub(super) struct Grammar {
    /// The name before those of its lists.
    pub(super) name: &'static str,
    language: Language,
    query: Query,
}

/// The imports, names, and texts in a piece of code, each with the byte where it starts.
///
/// Captures of a query have these names: `import`, or `from` with `imported`, a module and what is taken from it; `alias`,
/// another name for either, or for the module `aliased`; `name`, a name that may be read, unless it is an `other`;
/// `path`, names with dots between; `member`, the last name behind a dot; `computed`, what loads a module or reaches a
/// member that is not known yet; `mode`, that of a file that is opened; `comment` and `text`.
#[derive(Default)]
pub(super) struct CodeFacts {
    /// True if parts of the code could not be read.
    pub(super) has_errors: bool,
    pub(super) comments: Vec<Range<usize>>,
    pub(super) texts: Vec<(String, Range<usize>)>,
    /// The imported modules, each with the name that is taken from it.
    pub(super) imports: Vec<(String, Option<String>, usize)>,
    /// Other names of modules and of what is taken from them, as dotted names.
    pub(super) aliases: HashMap<String, String>,
    pub(super) names: Vec<(String, usize)>,
    pub(super) paths: Vec<(String, usize)>,
    pub(super) members: Vec<(String, usize)>,
    pub(super) computed: Vec<(String, usize)>,
    pub(super) modes: Vec<(String, usize)>,
}

impl Grammar {
    pub(super) fn python() -> &'static Self {
        static PYTHON: LazyLock<Grammar> = LazyLock::new(|| {
            Grammar::new("python", tree_sitter_python::LANGUAGE.into(), include_str!("python.scm"))
        });
        &PYTHON
    }

    pub(super) fn javascript() -> &'static Self {
        static JAVASCRIPT: LazyLock<Grammar> = LazyLock::new(|| {
            Grammar::new(
                "javascript",
                tree_sitter_javascript::LANGUAGE.into(),
                include_str!("javascript.scm"),
            )
        });
        &JAVASCRIPT
    }

    fn new(name: &'static str, language: Language, query: &str) -> Self {
        let query = Query::new(&language, query).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { name, language, query }
    }

    /// Reads `code`; `None` if that takes more effort than any real code does.
    pub(super) fn read(&self, code: &str) -> Option<CodeFacts> {
        let tree = self.parse(code).filter(is_flat)?;
        let mut facts = CodeFacts { has_errors: tree.root_node().has_error(), ..CodeFacts::default() };
        let mut others: HashSet<usize> = HashSet::new();
        let mut cursor = QueryCursor::new();
        let mut matches = cursor.matches(&self.query, tree.root_node(), code.as_bytes());
        while let Some(found) = matches.next() {
            let mut import = MatchedImport::default();
            for capture in found.captures() {
                let (range, name) =
                    (capture.node.byte_range(), self.query.capture_names()[capture.index as usize]);
                let text = code.get(range.clone()).unwrap_or_default();
                let fact = || (plain(text).into_owned(), range.start);
                match name {
                    "comment" => facts.comments.push(range),
                    "text" => facts.texts.push((text.to_owned(), range)),
                    "name" => facts.names.push(fact()),
                    "path" => facts.paths.push((joined(text), range.start)),
                    "member" => {
                        others.insert(range.start);
                        facts.members.push(fact());
                    }
                    "other" => {
                        others.insert(range.start);
                    }
                    "computed" => facts.computed.push(fact()),
                    "mode" => facts.modes.push((text.to_owned(), range.start)),
                    "import" | "from" => {
                        import.module = Some((joined(text), range.start));
                        others.insert(range.start);
                    }
                    "aliased" => import.aliased = Some(text.to_owned()),
                    "imported" => {
                        import.name = Some(plain(text).into_owned());
                        others.insert(range.start);
                    }
                    "alias" => import.alias = Some(plain(text).into_owned()),
                    _ => {}
                }
            }
            import.note(&mut facts);
        }
        facts.names.retain(|(_, at)| !others.contains(at));
        Some(facts)
    }

    fn parse(&self, code: &str) -> Option<Tree> {
        PARSER.with_borrow_mut(|parser| {
            // It begins anew with that, even where the last parsing was given up.
            parser.set_language(&self.language).ok()?;
            let mut effort = MIN_EFFORT + code.len();
            let mut progress = |_: &_| {
                effort = effort.saturating_sub(1);
                if effort == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let bytes = code.as_bytes();
            let options = ParseOptions::new().progress_callback(&mut progress);
            parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
        })
    }
}

/// Returns whether the depth of the tree and the length of its unreadable parts are those of real code. The time of a query
/// grows with both.
fn is_flat(tree: &Tree) -> bool {
    let mut cursor = tree.walk();
    let mut depth = 0;
    loop {
        let node = cursor.node();
        if node.is_error() && node.child_count() > MAX_UNREAD {
            return false;
        }
        if cursor.goto_first_child() {
            depth += 1;
            if depth > MAX_DEPTH {
                return false;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return true;
            }
            depth -= 1;
        }
    }
}

/// The largest depth of a tree.
const MAX_DEPTH: u32 = 500;

/// The largest number of parts in a row that could not be read.
const MAX_UNREAD: u32 = 2_000;

/// The parts of an import in one match of a query.
#[derive(Default)]
struct MatchedImport {
    module: Option<(String, usize)>,
    aliased: Option<String>,
    name: Option<String>,
    alias: Option<String>,
}

impl MatchedImport {
    fn note(self, facts: &mut CodeFacts) {
        let module = self.module.as_ref().map(|(module, _)| module.clone()).or(self.aliased);
        let whole = match (&module, &self.name) {
            (Some(module), Some(name)) => Some(format!("{module}.{name}")),
            (Some(module), None) => Some(module.clone()),
            (None, _) => None,
        };
        if let (Some(whole), Some(alias)) = (whole, self.alias.or_else(|| self.name.clone())) {
            facts.aliases.insert(alias, whole);
        }
        if let Some((module, at)) = self.module {
            facts.imports.push((module, self.name, at));
        }
    }
}

/// Returns a dotted name without the space and comments that may stand between its parts.
fn joined(text: &str) -> String {
    let lines = text.lines().map(|line| line.split_once('#').map_or(line, |(code, _)| code));
    let bare: String = lines.flat_map(str::chars).filter(|it| !it.is_whitespace() && *it != '\\').collect();
    plain(&bare).into_owned()
}

thread_local! {
    /// The parser of this thread, for all grammars: a parser is costly to make and cannot be shared.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// The number of times that the parser may report progress, beyond once for each byte; real code needs a fraction of
/// that.
const MIN_EFFORT: usize = 10_000;
