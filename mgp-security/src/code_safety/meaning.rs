//! The meaning of code before it runs: what its names refer to, and the strings and numbers that are known, however they are
//! put together, with a limit on the steps that it takes.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use super::pattern::{plain, unescape};
use super::syntax::{Known, Node, Tree};

/// The steps that are left to follow references in one tree, which could take any number of them where they lead back to
/// themselves, and the texts that are known.
pub(super) struct Evaluation {
    left: Cell<usize>,
    texts: Known<Option<Rc<str>>>,
}

impl Evaluation {
    /// Returns the steps for one tree, more for a longer one.
    pub(super) fn of(tree: &Tree) -> Self {
        Self { left: Cell::new(MIN_EFFORT + tree.len() * EFFORT_PER_NODE), texts: Known::default() }
    }

    /// Takes one step, and returns whether there are more.
    pub(super) fn spend(&self) -> bool {
        self.left.set(self.left.get().saturating_sub(1));
        !self.is_exhausted()
    }

    /// Uses up all steps.
    pub(super) fn exhaust(&self) {
        self.left.set(0);
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }
}

/// The paths that an expression may refer to: `os.system` for `o.system` after `import os as o`.
pub(super) type Paths = Rc<[Rc<str>]>;

/// The facts about a piece of code that are known before it runs: what names refer to, and the values of constant
/// expressions, in Python and in JavaScript.
pub(super) trait Meaning<'t> {
    /// True if a name that is bound once keeps its number, because the language binds by every assignment.
    const NAMES_KEEP_NUMBERS: bool;

    fn evaluation(&self) -> &Evaluation;

    /// Returns the expression that `name` always stands for, if there is one.
    fn value(&self, name: Node<'t>) -> Option<Node<'t>>;

    /// Returns the paths that `node` may refer to; none if that is not known.
    fn paths(&self, node: Node<'t>) -> Paths;

    /// Returns the name of the member that `node` takes, sets or declares, if that is known.
    fn key(&self, _node: Node<'t>) -> Option<Cow<'t, str>> {
        None
    }

    /// Returns whether `node` is in no function, so that submitting the code is enough to run it.
    fn is_outermost(&self, _node: Node<'t>) -> bool {
        true
    }

    /// Returns whether `node` names something that a function was given.
    fn is_parameter(&self, _node: Node<'t>) -> bool {
        false
    }

    /// Returns the text or bytes that `node` evaluates to, if that is known.
    fn text(&self, node: Node<'t>) -> Option<Rc<str>> {
        let found = || self.text_within(node, MAX_DEPTH).filter(|text| text.len() <= MAX_TEXT).map(Rc::from);
        self.evaluation().texts.get(node, found)
    }

    /// Returns the number that `node` evaluates to, approximately if it is large, if that is known.
    fn number(&self, node: Node<'t>) -> Option<f64> {
        self.number_within(node, MAX_DEPTH)
    }

    fn text_within(&self, node: Node<'t>, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1).filter(|_| self.evaluation().spend())?;
        let text = match node.kind() {
            // A part of a long literal can be short.
            "string" | "template_string" => return self.literal(node, depth),
            "concatenated_string" => {
                node.named_children().map(|part| self.text_within(part, depth)).collect::<Option<_>>()?
            }
            "parenthesized_expression" => self.text_within(node.named_children().next()?, depth)?,
            "named_expression" => self.text_within(node.field("value")?, depth)?,
            "binary_operator" | "binary_expression" => self.combine(node, depth)?,
            "subscript" => self.slice(node, depth)?,
            "call" | "call_expression" => self.text_of_call(node, depth)?,
            "identifier" => self.text_within(self.value(node)?, depth)?,
            _ => return None,
        };
        (text.len() <= MAX_TEXT).then_some(text)
    }

    /// Joins a chain of `+`. Chains lean to the left and may be long, so they are followed in a loop.
    fn combine(&self, node: Node<'t>, depth: usize) -> Option<String> {
        let (mut left, mut parts) = (node, Vec::new());
        while left.kind() == node.kind() && left.field("operator")?.text() == "+" {
            parts.push(self.text_within(left.field("right")?, depth)?);
            left = left.field("left")?;
        }
        if parts.is_empty() {
            let text = self.text_within(node.field("left")?, depth)?;
            return match node.field("operator")?.text() {
                "*" => repeat(&text, self.number_within(node.field("right")?, depth)?),
                "%" => self.fill(&text, node.field("right")?, depth),
                _ => None,
            };
        }
        parts.push(self.text_within(left, depth)?);
        parts.reverse();
        Some(parts.concat())
    }

    /// Evaluates `'%s%s' % ('a', 'b')`, with plain placeholders only.
    fn fill(&self, form: &str, values: Node<'t>, depth: usize) -> Option<String> {
        let is_tuple = values.kind() == "tuple";
        let values: Vec<_> = if is_tuple { values.named_children().collect() } else { vec![values] };
        let mut pieces = form.split("%s").flat_map(|piece| piece.split("%c"));
        let mut out = pieces.next()?.to_owned();
        for value in values {
            out.push_str(&self.text_or_character(value, depth)?);
            out.push_str(pieces.next()?);
        }
        pieces.next().is_none().then_some(out)
    }

    fn literal(&self, node: Node<'t>, depth: usize) -> Option<String> {
        let start = node.children().next()?;
        let is_raw = start.kind() == "string_start" && start.text().contains(['r', 'R']);
        let mut out = String::new();
        for part in node.children() {
            match part.kind() {
                "string_content" if is_raw => out.push_str(part.text()),
                "string_content" | "string_fragment" | "escape_sequence" => unescape(part.text(), &mut out),
                "interpolation" | "template_substitution" => {
                    out.push_str(&self.text_within(part.named_children().next()?, depth)?);
                }
                _ => {}
            }
        }
        Some(out)
    }

    fn slice(&self, node: Node<'t>, depth: usize) -> Option<String> {
        let index = node.field("subscript")?;
        let text: Vec<char> = self.text_within(node.field("value")?, depth)?.chars().collect();
        if index.kind() != "slice" {
            let at = integer(self.number_within(index, depth)?)?;
            return take(&text, Some(at), (at != -1).then_some(at + 1), 1).filter(|one| !one.is_empty());
        }
        let written: String = index.text().split_whitespace().collect();
        let parts: Vec<_> = written.split(':').collect();
        let part = |at: usize| match parts.get(at) {
            None | Some(&"") => Some(None),
            Some(digits) => digits.parse::<i64>().ok().map(Some),
        };
        take(&text, part(0)?, part(1)?, part(2)?.unwrap_or(1))
    }

    fn text_of_call(&self, node: Node<'t>, depth: usize) -> Option<String> {
        let function = node.field("function")?;
        let arguments: Vec<_> = node.field("arguments")?.named_children().collect();
        let text = |node: Node<'t>| self.text_within(node, depth);
        let Some(object) = function.field("object") else {
            let first = *arguments.first()?;
            return match &*plain(function.text()) {
                "chr" => self.character(first, depth),
                "str" | "String" | "unescape" | "decodeURIComponent" => text(first),
                "bytes" | "bytearray" | "list" | "tuple" => Some(self.parts(first, depth)?.concat()),
                "reversed" => Some(text(first)?.chars().rev().collect()),
                _ => None,
            };
        };
        let method = plain(function.field("attribute").or_else(|| function.field("property"))?.text());
        match (&*method, arguments.as_slice()) {
            ("fromhex", [hex, ..]) => from_hex(&text(*hex)?),
            ("fromCharCode" | "fromCodePoint", codes) => {
                codes.iter().map(|code| self.character(*code, depth)).collect()
            }
            // Python joins by a method of the separator, JavaScript by one of the array.
            ("join", [parts, ..]) if function.kind() == "attribute" => {
                Some(self.parts(*parts, depth)?.join(&text(object)?))
            }
            ("join", separator) => {
                let separator = separator.first().map_or_else(|| Some(",".to_owned()), |it| text(*it))?;
                Some(self.parts(object, depth)?.join(&separator))
            }
            ("concat", rest) => {
                let rest: Option<String> = rest.iter().map(|part| text(*part)).collect();
                Some(text(object)? + &rest?)
            }
            ("lower" | "casefold" | "toLowerCase", []) => Some(text(object)?.to_lowercase()),
            ("upper" | "toUpperCase", []) => Some(text(object)?.to_uppercase()),
            (
                "strip" | "decode" | "encode" | "lstrip" | "rstrip" | "format" | "title" | "toString"
                | "trim",
                _,
            ) => text(object),
            ("replace", [old, new, ..]) => {
                let (whole, old, new) = (text(object)?, text(*old)?, text(*new)?);
                (whole.len().saturating_mul(new.len() + 1) <= MAX_TEXT).then(|| whole.replace(&old, &new))
            }
            _ => None,
        }
    }

    /// Returns the strings in a list, the characters that a list of numbers stands for, or those of a text.
    fn parts(&self, node: Node<'t>, depth: usize) -> Option<Vec<String>> {
        let depth = depth.checked_sub(1).filter(|_| self.evaluation().spend())?;
        match node.kind() {
            "array" => node.named_children().map(|part| self.text_within(part, depth)).collect(),
            "list" | "tuple" | "set" => {
                node.named_children().map(|part| self.text_or_character(part, depth)).collect()
            }
            "list_comprehension" | "generator_expression" => {
                let over = node.children().find(|child| child.kind() == "for_in_clause")?.field("right")?;
                let is_chr = node.field("body")?.text().trim_start().starts_with("chr");
                if is_chr { self.parts(over, depth) } else { None }
            }
            "call" if node.field("function")?.text() == "map" => {
                let mut arguments = node.field("arguments")?.named_children();
                (arguments.next()?.text() == "chr").then_some(())?;
                self.parts(arguments.next()?, depth)
            }
            "call_expression" => {
                let function = node.field("function")?;
                let object = function.field("object")?;
                match function.field("property")?.text() {
                    "reverse" => self.parts(object, depth).map(|parts| parts.into_iter().rev().collect()),
                    "split" => {
                        let separator = node.field("arguments")?.named_children().next()?;
                        let separator = self.text_within(separator, depth)?;
                        let text = self.text_within(object, depth)?;
                        Some(match &*separator {
                            "" => text.chars().map(String::from).collect(),
                            separator => text.split(separator).map(String::from).collect(),
                        })
                    }
                    _ => None,
                }
            }
            _ => Some(self.text_within(node, depth)?.chars().map(String::from).collect()),
        }
    }

    fn text_or_character(&self, node: Node<'t>, depth: usize) -> Option<String> {
        self.text_within(node, depth).or_else(|| self.character(node, depth))
    }

    /// Returns the character whose code `node` evaluates to.
    fn character(&self, node: Node<'t>, depth: usize) -> Option<String> {
        let code = u32::try_from(integer(self.number_within(node, depth)?)?).ok()?;
        char::from_u32(code).map(String::from)
    }

    fn number_within(&self, node: Node<'t>, depth: usize) -> Option<f64> {
        let depth = depth.checked_sub(1).filter(|_| self.evaluation().spend())?;
        match node.kind() {
            "integer" | "float" | "number" => {
                let digits = node.text().replace('_', "").to_lowercase();
                let radix = match digits.get(..2) {
                    Some("0x") => 16,
                    Some("0o") => 8,
                    Some("0b") => 2,
                    _ => return digits.trim_end_matches('n').parse().ok(),
                };
                u32::from_str_radix(&digits[2..], radix).ok().map(f64::from)
            }
            "parenthesized_expression" => self.number_within(node.named_children().next()?, depth),
            "unary_operator" if node.field("operator")?.text() == "-" => {
                self.number_within(node.field("argument")?, depth).map(|number| -number)
            }
            "binary_operator" | "binary_expression" => {
                let left = self.number_within(node.field("left")?, depth)?;
                let right = self.number_within(node.field("right")?, depth)?;
                match node.field("operator")?.text() {
                    "+" => Some(left + right),
                    "-" => Some(left - right),
                    "*" => Some(left * right),
                    "**" => Some(left.powf(right)),
                    "<<" => Some(left * 2_f64.powf(right)),
                    _ => None,
                }
            }
            "identifier" if Self::NAMES_KEEP_NUMBERS => self.number_within(self.value(node)?, depth),
            _ => None,
        }
    }
}

fn repeat(text: &str, times: f64) -> Option<String> {
    let times = usize::try_from(integer(times)?).unwrap_or(0);
    (text.len().checked_mul(times)? <= MAX_TEXT).then(|| text.repeat(times))
}

/// Evaluates `text[from:to:step]`.
fn take(text: &[char], from: Option<i64>, to: Option<i64>, step: i64) -> Option<String> {
    let length = i64::try_from(text.len()).ok()?;
    let clamp = |at: i64, low: i64, high: i64| (if at < 0 { at + length } else { at }).clamp(low, high);
    let stride = usize::try_from(step.unsigned_abs()).ok().filter(|stride| *stride > 0)?;
    let indices: Vec<i64> = if step > 0 {
        let (from, to) = (clamp(from.unwrap_or(0), 0, length), to.map_or(length, |to| clamp(to, 0, length)));
        (from..to).step_by(stride).collect()
    } else {
        let from = from.map_or(length - 1, |from| clamp(from, -1, length - 1));
        let to = to.map_or(-1, |to| clamp(to, -1, length - 1));
        (to + 1..=from).rev().step_by(stride).collect()
    };
    indices.into_iter().map(|at| usize::try_from(at).ok().and_then(|at| text.get(at))).collect()
}

fn from_hex(text: &str) -> Option<String> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    digits.chunks_exact(2).map(|pair| char::from_u32(pair[0] * 16 + pair[1])).collect()
}

/// Returns the integer that a number is, if it is a small one.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked, and what is cut off is compared")]
fn integer(number: f64) -> Option<i64> {
    (number.abs() < 1e9 && number.fract().abs() < f64::EPSILON).then_some(number as i64)
}

/// The deepest nesting of a string expression that is followed; honest code nests less.
const MAX_DEPTH: usize = 40;
/// The largest string that is evaluated, in bytes.
const MAX_TEXT: usize = 64 * 1024;
/// The number of steps for a tree without nodes.
const MIN_EFFORT: usize = 20_000;
/// The number of further steps for each node of a tree.
const EFFORT_PER_NODE: usize = 30;
