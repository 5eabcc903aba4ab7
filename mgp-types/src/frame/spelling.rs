//! Names that only look like names of the protocol: a lenient reader takes them for members that a strict one ignores.
//!
//! The known names are data: the shapes of `mcp::shape`, which the types of the bodies define, and the names of
//! `mgp::members`. The walk steps over arguments of tools, schemas and other opaque values. A member that is spelled as
//! the protocol spells it costs comparisons and no allocation.

use std::borrow::Cow;
use std::fmt;

use crate::json::Scanner;
use crate::mcp::meta::KEYS;
use crate::mcp::method;
use crate::mcp::method::notification_name;
use crate::mcp::shape::Shape;
use crate::mgp::{self, members};
use crate::{Error, Params, RawJson, folded};

/// A name that reads like a name of the protocol and is spelled otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MisspelledName {
    /// The word for what is misspelled.
    what: &'static str,
    found: Box<str>,
    proper: &'static str,
}

const LONGEST_SHOWN: usize = 64;

impl fmt::Display for MisspelledName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, proper, .. } = self;
        let found: String = self.found.chars().take(LONGEST_SHOWN).flat_map(char::escape_default).collect();
        write!(f, "the {what} \"{found}\" is spelled \"{proper}\"; lenient readers take one for the other")
    }
}

/// Refuses a result with a member that a lenient reader takes for another member of the protocol.
///
/// A frame does not name the method of the request that it answers, so the caller of the method runs this check.
///
/// # Errors
/// The peer misbehaved: a member that the protocol knows, at any level, is not spelled as the protocol spells it.
///
/// ```
/// use mgp_types::{Method, RawJson, frame};
///
/// let check = |result: &'static str| frame::check_result(&Method::TOOLS_CALL, &RawJson::parse(result).unwrap());
/// assert!(check(r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"IsError":true}}"#).is_ok());
/// assert!(check(r#"{"content":[],"IsError":true}"#).is_err());
/// ```
pub fn check_result(method: &crate::Method, result: &RawJson) -> Result<(), Error> {
    let shape = match method.as_str() {
        method::TASKS_RESULT => Shape::AnyOf(&[
            || method::result_shape(method::TOOLS_CALL).unwrap_or(Shape::Opaque),
            || method::result_shape(method::CREATE_MESSAGE).unwrap_or(Shape::Opaque),
            || method::result_shape(method::ELICIT).unwrap_or(Shape::Opaque),
        ]),
        name => method::result_shape(name).unwrap_or_else(|| other(method.is_mgp())),
    };
    check_value(result.as_bytes(), shape)
        .map_err(|misspelled| Error::misbehaved(format!("in the answer, {misspelled}")))
}

/// The members that MGP adds to objects of MCP.
const ADDED: &[&str] = &["_meta", mgp::MEMBER, mgp::LEGACY_MEMBER];
/// The further member that MGP adds to params.
const IN_PARAMS: &[&str] = &[TRACE_ID];
const TRACE_ID: &str = "trace_id";

/// Refuses params with a member that a lenient reader takes for another member of the protocol.
pub(super) fn check_params(method: &crate::Method, params: &Params) -> Result<(), MisspelledName> {
    if params.is_empty() {
        return Ok(());
    }
    let name = method.as_str();
    let known = if method.is_notification() {
        notification_name::params_shape(name)
    } else {
        method::params_shape(name)
    };
    let shape = known.unwrap_or_else(|| other(method.is_mgp()));
    for (name, value) in params.scanned() {
        let shape = member(&name, shape, IN_PARAMS)?;
        check_value(value, shape)?;
    }
    Ok(())
}

/// Refuses an error with a member that a lenient reader takes for another member of the protocol.
pub(super) fn check_error(error: &[u8]) -> Result<(), MisspelledName> {
    check_value(error, Shape::Names(&["code", "message", "data"]))
}

/// Refuses a member of a message that is no member of JSON-RPC and reads like one.
#[cold]
pub(super) fn check_envelope(name: &[u8]) -> Result<(), MisspelledName> {
    SpelledName::of(name).check(&["jsonrpc", "id", "method", "params", "result", "error", TRACE_ID])
}

/// Refuses a method that is no method of the protocol and reads like one.
#[cold]
pub(super) fn check_method(name: &str) -> Result<(), MisspelledName> {
    let known = [method::NAMES, notification_name::NAMES, mgp::method::NAMES];
    if known.iter().any(|known| known.contains(&name)) {
        return Ok(());
    }
    let name = SpelledName::of(name.as_bytes());
    let checked = known.iter().try_for_each(|known| name.check(known));
    checked.map_err(|misspelled| MisspelledName { what: "method", ..misspelled })
}

/// Returns the shape of the params of a method that MCP does not define.
fn other(is_mgp: bool) -> Shape {
    Shape::Names(if is_mgp { &members::NAMES } else { &[] })
}

/// Checks a value whose grammar was checked before.
fn check_value(bytes: &[u8], shape: Shape) -> Result<(), MisspelledName> {
    match shape {
        Shape::Opaque => Ok(()),
        shape => walk(&mut Scanner::of_names(bytes), shape),
    }
}

/// Returns the shape of the value of a member.
fn member(name: &[u8], shape: Shape, besides: &[&'static str]) -> Result<Shape, MisspelledName> {
    if let Some(found) = find(shape, name) {
        return Ok(found);
    }
    match name {
        b"_meta" => return Ok(Shape::Object(KEYS)),
        b"_mgp" => return Ok(Shape::Names(&members::NAMES)),
        name if besides.iter().any(|known| known.as_bytes() == name) => return Ok(Shape::Opaque),
        _ => {}
    }
    let name = SpelledName::of(name);
    name.check(ADDED)?;
    name.check(besides)?;
    name.check_shape(shape)?;
    Ok(Shape::Opaque)
}

/// A name that is not among the known ones, and its folded form. The name is folded once, however many names it is
/// compared with, because a message may have very many members.
struct SpelledName<'a> {
    spelled: Cow<'a, str>,
    read: Cow<'a, str>,
}

impl<'a> SpelledName<'a> {
    fn of(name: &'a [u8]) -> Self {
        let spelled = String::from_utf8_lossy(name);
        let read = if spelled.bytes().all(|byte| byte.is_ascii_graphic()) {
            spelled.clone()
        } else {
            Cow::Owned(folded(&spelled).into_owned())
        };
        Self { spelled, read }
    }

    /// Refuses the name if it reads like one of `known`, which are ASCII.
    fn check(&self, known: &[&'static str]) -> Result<(), MisspelledName> {
        known.iter().try_for_each(|known| self.check_one(known))
    }

    fn check_one(&self, known: &'static str) -> Result<(), MisspelledName> {
        if self.read.eq_ignore_ascii_case(known) && *self.spelled != *known {
            return Err(MisspelledName { what: "member", found: (&*self.spelled).into(), proper: known });
        }
        Ok(())
    }

    fn check_shape(&self, shape: Shape) -> Result<(), MisspelledName> {
        match shape {
            Shape::Object(members) => members.iter().try_for_each(|member| self.check_one(member.name)),
            Shape::Names(names) => self.check(names),
            Shape::AnyOf(kinds) => kinds.iter().try_for_each(|kind| self.check_shape(kind())),
            Shape::Opaque | Shape::Each(_) | Shape::Values(_) => Ok(()),
        }
    }
}

/// Returns the shape of the member that is called exactly `name`.
fn find(shape: Shape, name: &[u8]) -> Option<Shape> {
    match shape {
        Shape::Object(members) => {
            let member = members.iter().find(|member| member.name.as_bytes() == name)?;
            Some((member.shape)())
        }
        Shape::Names(names) => names.iter().any(|known| known.as_bytes() == name).then_some(Shape::Opaque),
        Shape::AnyOf(kinds) => {
            // The same name may stand for a text in one kind and for an object in another.
            let found = kinds.iter().filter_map(|kind| find(kind(), name));
            found.min_by_key(|shape| matches!(shape, Shape::Opaque))
        }
        Shape::Opaque | Shape::Each(_) | Shape::Values(_) => None,
    }
}

/// Checks the names in the value at which `scanner` stands.
fn walk(scanner: &mut Scanner<'_>, shape: Shape) -> Result<(), MisspelledName> {
    match (scanner.peek(), shape) {
        (Some(b'{'), Shape::Object(_) | Shape::Names(_) | Shape::AnyOf(_)) => {
            walk_members(scanner, |name| member(name, shape, &[]))
        }
        (Some(b'{'), Shape::Values(inner)) => walk_members(scanner, |_| Ok(inner())),
        (Some(b'{'), Shape::Each(inner)) => walk(scanner, inner()),
        (Some(b'['), Shape::Each(inner)) => walk_elements(scanner, inner),
        _ => {
            let _ = scanner.value();
            Ok(())
        }
    }
}

fn walk_members(
    scanner: &mut Scanner<'_>,
    shape: impl Fn(&[u8]) -> Result<Shape, MisspelledName>,
) -> Result<(), MisspelledName> {
    let Ok(mut object) = scanner.open_object() else { return Ok(()) };
    while let Ok(Some(key)) = scanner.next_key(&mut object) {
        let shape = shape(&scanner.name(&key))?;
        walk(scanner, shape)?;
    }
    scanner.skip_space();
    Ok(())
}

fn walk_elements(scanner: &mut Scanner<'_>, inner: fn() -> Shape) -> Result<(), MisspelledName> {
    let mut is_first = true;
    if scanner.open_array().is_ok() {
        while let Ok(true) = scanner.next_element(&mut is_first) {
            walk(scanner, inner())?;
        }
    }
    scanner.skip_space();
    Ok(())
}

#[cfg(test)]
mod tests;
