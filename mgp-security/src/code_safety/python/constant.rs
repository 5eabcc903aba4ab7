//! Evaluation of strings and numbers that are known before the code runs, however they are put together.

use std::rc::Rc;

use super::resolve::Resolver;
use super::scope::Binding;
use crate::code_safety::identifier::plain;
use crate::code_safety::syntax::Node;

impl<'t> Resolver<'t> {
    /// Evaluates an expression to a string or bytes.
    pub(super) fn evaluated(&self, node: Node<'t>) -> Option<Rc<str>> {
        self.text_within(node, MAX_DEPTH).filter(|text| text.len() <= MAX_TEXT).map(Rc::from)
    }

    /// Evaluates an expression to a number, approximately if it is large.
    pub(super) fn evaluated_number(&self, node: Node<'t>) -> Option<f64> {
        self.number_within(node, MAX_DEPTH)
    }

    fn text_within(&self, node: Node<'t>, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1).filter(|_| self.effort.spend())?;
        match node.kind() {
            "string" => self.literal(node, depth),
            "concatenated_string" => {
                node.named_children().map(|part| self.text_within(part, depth)).collect()
            }
            "parenthesized_expression" => self.text_within(node.named_children().next()?, depth),
            "named_expression" => self.text_within(node.field("value")?, depth),
            "binary_operator" => self.combine(node, depth),
            "subscript" => self.slice(node, depth),
            "call" => self.text_of_call(node, depth),
            "identifier" => {
                let name = plain(node.text());
                match self.scopes.bindings(&name, node)[..] {
                    [Binding::Value(value)] => self.text_within(*value, depth),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Joins a chain of `+`. Chains lean to the left and may be long, so they are followed in a loop.
    fn combine(&self, node: Node<'t>, depth: usize) -> Option<String> {
        let (mut left, mut parts) = (node, Vec::new());
        while left.kind() == "binary_operator" && left.field("operator")?.text() == "+" {
            parts.push(self.text_within(left.field("right")?, depth)?);
            left = left.field("left")?;
        }
        if parts.is_empty() {
            let text = self.text_within(node.field("left")?, depth)?;
            return match node.field("operator")?.text() {
                "*" => {
                    let times = self.number_within(node.field("right")?, depth)?;
                    repeat(&text, times)
                }
                "%" => self.fill(&text, node.field("right")?, depth),
                _ => None,
            };
        }
        parts.push(self.text_within(left, depth)?);
        parts.reverse();
        Some(parts.concat()).filter(|text| text.len() <= MAX_TEXT)
    }

    /// Evaluates `'%s%s' % ('a', 'b')`, with plain placeholders only.
    fn fill(&self, form: &str, values: Node<'t>, depth: usize) -> Option<String> {
        let values: Vec<_> = match values.kind() {
            "tuple" => values.named_children().collect(),
            _ => vec![values],
        };
        let mut pieces = form.split("%s").flat_map(|piece| piece.split("%c"));
        let mut out = pieces.next()?.to_owned();
        for value in values {
            let text = self
                .text_within(value, depth)
                .or_else(|| Some(character(self.number_within(value, depth)?)?.into()))?;
            out.push_str(&text);
            out.push_str(pieces.next()?);
        }
        pieces.next().is_none().then_some(out)
    }

    fn literal(&self, node: Node<'t>, depth: usize) -> Option<String> {
        let start = node.children().find(|child| child.kind() == "string_start")?.text();
        let is_raw = start.contains(['r', 'R']);
        let mut out = String::new();
        for part in node.children() {
            match part.kind() {
                "string_content" if is_raw => out.push_str(part.text()),
                "string_content" => unescape(part.text(), &mut out),
                "interpolation" => out.push_str(&self.text_within(part.field("expression")?, depth)?),
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
            let length = i64::try_from(text.len()).ok()?;
            let at = usize::try_from(if at < 0 { at + length } else { at }).ok()?;
            return text.get(at).map(char::to_string);
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
        let arguments = node.field("arguments")?;
        let first = arguments.named_children().next();
        if function.kind() == "attribute" {
            let object = function.field("object")?;
            let method = plain(function.field("attribute")?.text());
            return match (&*method, first) {
                ("fromhex", Some(hex)) => from_hex(&self.text_within(hex, depth)?),
                ("join", Some(parts)) => {
                    Some(self.parts(parts, depth)?.join(&self.text_within(object, depth)?))
                }
                ("lower" | "casefold", None) => Some(self.text_within(object, depth)?.to_lowercase()),
                ("upper", None) => Some(self.text_within(object, depth)?.to_uppercase()),
                ("strip" | "decode" | "encode" | "lstrip" | "rstrip" | "format" | "title", _) => {
                    Some(self.text_within(object, depth)?)
                }
                ("replace", Some(old)) => {
                    let new = arguments.named_children().nth(1)?;
                    let text = self.text_within(object, depth)?;
                    let (old, new) = (self.text_within(old, depth)?, self.text_within(new, depth)?);
                    (text.len().saturating_mul(new.len() + 1) <= MAX_TEXT).then(|| text.replace(&old, &new))
                }
                _ => None,
            };
        }
        match (&*plain(function.text()), first?) {
            ("chr", code) => Some(character(self.number_within(code, depth)?)?.into()),
            ("str", value) => self.text_within(value, depth),
            ("bytes" | "bytearray" | "list" | "tuple", value) => Some(self.parts(value, depth)?.concat()),
            ("reversed", value) => Some(self.text_within(value, depth)?.chars().rev().collect()),
            _ => None,
        }
    }

    /// Returns the strings in a list, or the characters that a list of numbers stands for.
    fn parts(&self, node: Node<'t>, depth: usize) -> Option<Vec<String>> {
        let depth = depth.checked_sub(1).filter(|_| self.effort.spend())?;
        match node.kind() {
            "list" | "tuple" | "set" => node
                .named_children()
                .map(|part| {
                    let text = self.text_within(part, depth);
                    text.or_else(|| Some(character(self.number_within(part, depth)?)?.into()))
                })
                .collect(),
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
            _ => Some(self.text_within(node, depth)?.chars().map(String::from).collect()),
        }
    }

    fn number_within(&self, node: Node<'t>, depth: usize) -> Option<f64> {
        let depth = depth.checked_sub(1).filter(|_| self.effort.spend())?;
        match node.kind() {
            "integer" | "float" => {
                let digits = node.text().replace('_', "").to_lowercase();
                let radix = match digits.get(..2) {
                    Some("0x") => 16,
                    Some("0o") => 8,
                    Some("0b") => 2,
                    _ => return digits.parse().ok(),
                };
                u32::from_str_radix(&digits[2..], radix).ok().map(f64::from)
            }
            "parenthesized_expression" => self.number_within(node.named_children().next()?, depth),
            "unary_operator" if node.field("operator")?.text() == "-" => {
                self.number_within(node.field("argument")?, depth).map(|number| -number)
            }
            "binary_operator" => {
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
            "identifier" => match self.scopes.bindings(&plain(node.text()), node)[..] {
                [Binding::Value(value)] => self.number_within(*value, depth),
                _ => None,
            },
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

fn unescape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(sign) = rest.chars().next() else { break };
        rest = &rest[sign.len_utf8()..];
        let (radix, max) = match sign {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => (8, 3),
            '\n' => continue,
            'N' if rest.starts_with('{') => {
                let (name, after) = rest[1..].split_once('}').unwrap_or((rest, ""));
                out.push(named(name));
                rest = after;
                continue;
            }
            'n' | 't' | 'r' => {
                out.push(' ');
                continue;
            }
            other => {
                out.push(other);
                continue;
            }
        };
        let from = if radix == 8 { &text[text.len() - rest.len() - 1..] } else { rest };
        let digits: &str = &from[..from.chars().take(max).take_while(|c| c.is_digit(radix)).count()];
        rest = &from[digits.len()..];
        out.extend(u32::from_str_radix(digits, radix).ok().and_then(char::from_u32));
    }
    out.push_str(rest);
}

/// Returns the character of a Unicode name, as far as names in Python consist of such characters.
fn named(name: &str) -> char {
    let name = name.to_uppercase();
    let name = name.strip_prefix("FULLWIDTH ").unwrap_or(&name);
    match (name, name.strip_prefix("LATIN SMALL LETTER ")) {
        ("LOW LINE", _) => '_',
        ("FULL STOP", _) => '.',
        (_, Some(letter)) if letter.len() == 1 => letter.to_lowercase().chars().next().unwrap_or('?'),
        _ => '?',
    }
}

fn from_hex(text: &str) -> Option<String> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    digits.chunks_exact(2).map(|pair| char::from_u32(pair[0] * 16 + pair[1])).collect()
}

fn character(code: f64) -> Option<char> {
    u32::try_from(integer(code)?).ok().and_then(char::from_u32)
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
