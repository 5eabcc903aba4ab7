//! Evaluation of strings and numbers that are known before the code runs, however they are put together.

use std::rc::Rc;

use super::scope::JavaScriptScopes;
use crate::code_safety::identifier::plain;
use crate::code_safety::syntax::Node;

impl<'t> JavaScriptScopes<'t> {
    /// Evaluates an expression to a string.
    pub(super) fn evaluated(&self, node: Node<'t>) -> Option<Rc<str>> {
        self.text_within(node, MAX_DEPTH).map(Rc::from)
    }

    fn text_within(&self, node: Node<'t>, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1).filter(|_| self.effort.spend())?;
        let text = match node.kind() {
            "string" | "template_string" => {
                let mut out = String::new();
                for part in node.children() {
                    match part.kind() {
                        "string_fragment" => out.push_str(part.text()),
                        "escape_sequence" => out.extend(escaped(part.text())),
                        "template_substitution" => {
                            out.push_str(&self.text_within(part.named_children().next()?, depth)?);
                        }
                        _ => {}
                    }
                }
                out
            }
            "parenthesized_expression" => self.text_within(node.named_children().next()?, depth)?,
            "binary_expression" => {
                let (mut left, mut parts) = (node, Vec::new());
                while left.kind() == "binary_expression" && left.field("operator")?.text() == "+" {
                    parts.push(self.text_within(left.field("right")?, depth)?);
                    left = left.field("left")?;
                }
                (!parts.is_empty()).then_some(())?;
                parts.push(self.text_within(left, depth)?);
                parts.reverse();
                parts.concat()
            }
            "identifier" => self.text_within(self.value(&plain(node.text()), node)?, depth)?,
            "call_expression" => self.text_of_call(node, depth)?,
            _ => return None,
        };
        (text.len() <= MAX_TEXT).then_some(text)
    }

    fn text_of_call(&self, node: Node<'t>, depth: usize) -> Option<String> {
        let function = node.field("function")?;
        let arguments: Vec<_> = node.field("arguments")?.named_children().collect();
        if function.kind() != "member_expression" {
            let name = plain(function.text());
            let first = *arguments.first()?;
            return match &*name {
                "String" | "unescape" | "decodeURIComponent" => self.text_within(first, depth),
                _ => None,
            };
        }
        let (object, property) = (function.field("object")?, function.field("property")?);
        match &*plain(property.text()) {
            "fromCharCode" | "fromCodePoint" => {
                arguments.iter().map(|code| character(number(*code)?)).collect()
            }
            "join" => {
                let separator = match arguments.first() {
                    Some(separator) => self.text_within(*separator, depth)?,
                    None => ",".to_owned(),
                };
                Some(self.elements(object, depth)?.join(&separator))
            }
            "concat" => {
                let rest: Option<String> =
                    arguments.iter().map(|part| self.text_within(*part, depth)).collect();
                Some(self.text_within(object, depth)? + &rest?)
            }
            "toLowerCase" => Some(self.text_within(object, depth)?.to_lowercase()),
            "toUpperCase" => Some(self.text_within(object, depth)?.to_uppercase()),
            "toString" | "trim" => self.text_within(object, depth),
            _ => None,
        }
    }

    /// Returns the strings in an array, also in one that was split or reversed.
    fn elements(&self, node: Node<'t>, depth: usize) -> Option<Vec<String>> {
        let depth = depth.checked_sub(1).filter(|_| self.effort.spend())?;
        match node.kind() {
            "array" => node.named_children().map(|part| self.text_within(part, depth)).collect(),
            "call_expression" => {
                let function = node.field("function")?;
                let object = function.field("object")?;
                match function.field("property")?.text() {
                    "reverse" => {
                        let mut elements = self.elements(object, depth)?;
                        elements.reverse();
                        Some(elements)
                    }
                    "split" => {
                        let separator =
                            self.text_within(node.field("arguments")?.named_children().next()?, depth)?;
                        let text = self.text_within(object, depth)?;
                        Some(match &*separator {
                            "" => text.chars().map(String::from).collect(),
                            separator => text.split(separator).map(String::from).collect(),
                        })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Returns the number that an expression evaluates to, if that is known.
pub(super) fn number(node: Node<'_>) -> Option<f64> {
    match node.kind() {
        "number" => {
            let digits = node.text().replace('_', "").to_lowercase();
            match digits.strip_prefix("0x") {
                Some(hex) => u32::from_str_radix(hex, 16).ok().map(f64::from),
                None => digits.trim_end_matches('n').parse().ok(),
            }
        }
        "binary_expression" => {
            let (left, right) = (node.field("left")?, node.field("right")?);
            if left.kind() != "number" || right.kind() != "number" {
                return None;
            }
            let (left, right) = (number(left)?, number(right)?);
            match node.field("operator")?.text() {
                "**" => Some(left.powf(right)),
                "*" => Some(left * right),
                "<<" => Some(left * 2_f64.powf(right)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn escaped(text: &str) -> Option<char> {
    let rest = text.strip_prefix('\\')?;
    let digits = match rest.chars().next()? {
        'x' => &rest[1..],
        'u' => rest[1..].trim_matches(['{', '}']),
        'n' | 't' | 'r' => return Some(' '),
        '0'..='7' => return u32::from_str_radix(rest, 8).ok().and_then(char::from_u32),
        other => return Some(other),
    };
    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn character(code: f64) -> Option<char> {
    (0.0..1_114_112.0).contains(&code).then_some(code as u32).and_then(char::from_u32)
}

/// The deepest nesting of a string expression that is followed; honest code nests less.
const MAX_DEPTH: usize = 40;
/// The largest string that is evaluated, in bytes.
const MAX_TEXT: usize = 64 * 1024;
