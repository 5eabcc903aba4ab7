//! Requests in parts: `multipart/related` with a message of JSON first, and the binary values of its arguments behind it.

use std::collections::HashMap;
use std::mem;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use memchr::memmem;
use mgp_types::{Error, Object, RawJson};

/// The only member of an object that stands for a part: `{"$part": "cid:p1"}`.
const REFERENCE: &str = "$part";
const MAX_PARTS: usize = 64;
/// The levels of the arguments in which references are looked for.
const MAX_DEPTH: usize = 32;
const MAX_BOUNDARY_BYTES: usize = 70;

/// The content type of a request in parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MultipartRelated {
    boundary: String,
    /// The id of the part with the message, if the sender says it.
    start: Option<String>,
}

/// A part of a request.
struct Part<'a> {
    id: Option<&'a str>,
    content: &'a [u8],
}

impl MultipartRelated {
    /// Reads a content type; `None` if it is another one, or lacks a boundary.
    pub(super) fn read(content_type: &str) -> Option<Self> {
        let (media, mut rest) = content_type.split_once(';')?;
        if !media.trim().eq_ignore_ascii_case("multipart/related") {
            return None;
        }
        let (mut boundary, mut start) = (None, None);
        while !rest.trim().is_empty() {
            let (name, value, after) = parameter(rest)?;
            let place = match &*name.to_ascii_lowercase() {
                "boundary" => &mut boundary,
                "start" => &mut start,
                "type" if !value.eq_ignore_ascii_case("application/json") => return None,
                _ => &mut None,
            };
            // A parameter that comes twice has two readings.
            if place.replace(value).is_some() {
                return None;
            }
            rest = after;
        }
        let boundary = boundary.filter(|text| (1..=MAX_BOUNDARY_BYTES).contains(&text.len()))?;
        Some(Self { boundary, start })
    }

    /// Returns the message with each reference to a part replaced by the part in base64.
    ///
    /// Each part is referred to once, so that no short request becomes a long one.
    pub(super) fn join(&self, body: &[u8]) -> Result<Bytes, Error> {
        let mut parts = self.parts(body)?.into_iter();
        let root = parts.next().ok_or_else(|| refused("it has no part"))?;
        if self.start.as_deref().is_some_and(|start| root.id != Some(content_id(start))) {
            return Err(refused("the message must be its first part"));
        }
        let mut values = HashMap::new();
        for part in parts {
            let id = part.id.ok_or_else(|| refused("a part behind the message lacks a Content-ID"))?;
            if values.insert(id, part.content).is_some() {
                return Err(refused("two parts have one Content-ID"));
            }
        }
        let message = Object::parse(Bytes::copy_from_slice(root.content));
        let mut message = message.map_err(|_| refused("its first part is no message of JSON"))?;
        if let Some(params) = message.object_mut("params")
            && let Some(arguments) = params.object("arguments")
        {
            params.set("arguments", filled(&arguments, &mut values, MAX_DEPTH)?.to_raw());
        }
        if !values.is_empty() {
            return Err(refused("no argument refers to a part of it"));
        }
        Ok(Bytes::from(message.to_raw().as_bytes().to_vec()))
    }

    /// Returns the parts between the boundaries.
    fn parts<'a>(&self, body: &'a [u8]) -> Result<Vec<Part<'a>>, Error> {
        let delimiter = format!("\r\n--{}", self.boundary);
        let open = &delimiter.as_bytes()[2..];
        let mut rest = match body.strip_prefix(open) {
            Some(rest) => rest,
            // Text in front of the first boundary is for readers that know no parts.
            None => after(body, delimiter.as_bytes()).ok_or_else(|| refused("its boundary is missing"))?,
        };
        let mut parts = Vec::new();
        while !rest.starts_with(b"--") {
            let content = line_end(rest).ok_or_else(|| refused("a boundary ends with no line"))?;
            let end = memmem::find(content, delimiter.as_bytes())
                .ok_or_else(|| refused("its last boundary is missing"))?;
            if parts.len() > MAX_PARTS {
                return Err(refused("it has more than 64 parts behind the message"));
            }
            parts.push(Part::read(&content[..end])?);
            rest = &content[end + delimiter.len()..];
        }
        Ok(parts)
    }
}

impl<'a> Part<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        // A part without headers begins with the empty line.
        let (head, content) = if let Some(content) = bytes.strip_prefix(b"\r\n") {
            (&b""[..], content)
        } else {
            let end = memmem::find(bytes, b"\r\n\r\n")
                .ok_or_else(|| refused("a part has no empty line behind its headers"))?;
            (&bytes[..end], &bytes[end + 4..])
        };
        let head = std::str::from_utf8(head).map_err(|_| refused("the headers of a part are no text"))?;
        let mut id = None;
        for line in head.split("\r\n").filter(|line| !line.is_empty()) {
            let (name, value) =
                line.split_once(':').ok_or_else(|| refused("a header of a part lacks its colon"))?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-id") && id.replace(content_id(value)).is_some() {
                return Err(refused("a part has two Content-IDs"));
            }
            let is_encoded = name.eq_ignore_ascii_case("content-transfer-encoding")
                && !["binary", "8bit", "7bit"].iter().any(|known| value.eq_ignore_ascii_case(known));
            if is_encoded {
                return Err(refused("a part must come as its bytes, in no encoding"));
            }
        }
        Ok(Self { id, content })
    }
}

/// Returns the object with the references in it replaced.
fn filled(object: &Object, values: &mut HashMap<&str, &[u8]>, depth: usize) -> Result<Object, Error> {
    object.iter().map(|(name, value)| Ok((name.into_owned(), filled_value(value, values, depth)?))).collect()
}

fn filled_value(value: RawJson, values: &mut HashMap<&str, &[u8]>, depth: usize) -> Result<RawJson, Error> {
    // Most values hold no reference, and pass as they are.
    if memmem::find(value.as_bytes(), REFERENCE.as_bytes()).is_none() {
        return Ok(value);
    }
    let depth = depth.checked_sub(1).ok_or_else(|| refused("a reference lies too deep in the arguments"))?;
    if let Ok(object) = Object::from_raw(&value) {
        return match object.text(REFERENCE) {
            Some(reference) if object.iter().count() == 1 => {
                let id = reference.strip_prefix("cid:").unwrap_or(&reference);
                let bytes = values.remove(id).ok_or_else(|| {
                    refused("an argument refers to a part that it does not have, or has given already")
                })?;
                Ok(RawJson::from_text(&STANDARD.encode(bytes)))
            }
            _ => Ok(filled(&object, values, depth)?.to_raw()),
        };
    }
    let Ok(mut list) = value.to::<Vec<RawJson>>() else { return Ok(value) };
    for member in &mut list {
        *member = filled_value(mem::replace(member, RawJson::null()), values, depth)?;
    }
    RawJson::from_value(&list)
        .map_err(|error| Error::internal("the arguments are not JSON").with_source(error))
}

/// Reads one parameter of a content type, with its value free of quotes; returns what follows, too.
fn parameter(text: &str) -> Option<(&str, String, &str)> {
    let (name, rest) = text.split_once('=')?;
    let Some(quoted) = rest.strip_prefix('"') else {
        let (value, rest) = rest.split_once(';').unwrap_or((rest, ""));
        return Some((name.trim(), value.trim().into(), rest));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                let rest = quoted[at + 1..].trim_start();
                let rest = if rest.is_empty() { rest } else { rest.strip_prefix(';')? };
                return Some((name.trim(), value, rest));
            }
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

/// Returns an id without its brackets.
fn content_id(text: &str) -> &str {
    text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text)
}

fn after<'a>(body: &'a [u8], delimiter: &[u8]) -> Option<&'a [u8]> {
    memmem::find(body, delimiter).map(|at| &body[at + delimiter.len()..])
}

/// Returns what follows the end of the line, in front of which only spaces may stand.
fn line_end(text: &[u8]) -> Option<&[u8]> {
    let end = memmem::find(text, b"\r\n")?;
    text[..end].iter().all(|byte| matches!(byte, b' ' | b'\t')).then(|| &text[end + 2..])
}

fn refused(why: &'static str) -> Error {
    Error::invalid_request(format!("the request in parts cannot be read: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = r#"multipart/related; type="application/json"; boundary="b;1""#;

    fn join(body: &str) -> Result<String, Error> {
        let joined = MultipartRelated::read(TYPE).unwrap().join(body.as_bytes())?;
        Ok(String::from_utf8(joined.to_vec()).unwrap())
    }

    fn message(arguments: &str) -> String {
        format!(
            "--b;1\r\nContent-Type: application/json\r\n\r\n{{\"id\":1,\"params\":{{\"arguments\":{arguments}}}}}"
        )
    }

    fn part(id: &str, content: &str) -> String {
        format!("\r\n--b;1\r\nContent-ID: <{id}>\r\n\r\n{content}")
    }

    const END: &str = "\r\n--b;1--\r\n";

    #[test]
    fn only_types_with_one_boundary_are_read() {
        for (text, boundary) in [
            (TYPE, Some("b;1")),
            ("Multipart/Related;boundary=x", Some("x")),
            (r#"multipart/related; start-info="a; boundary=y"; boundary=x; start="<r>""#, Some("x")),
            ("multipart/related", None),
            ("multipart/related; boundary=", None),
            ("multipart/related; boundary=x; boundary=y", None),
            (r#"multipart/related; boundary="x"#, None),
            ("multipart/related; type=text/xml; boundary=x", None),
            ("multipart/form-data; boundary=x", None),
            ("application/json", None),
        ] {
            let read = MultipartRelated::read(text).map(|read| read.boundary);
            assert_eq!(read.as_deref(), boundary, "{text}");
        }
    }

    #[test]
    fn each_reference_becomes_its_part_in_base64() {
        let arguments = r#"{"n":9007199254740993,"image":{"$part":"cid:p1"},"list":[[{"$part":"p2"}]],"as":{"$part":"x","is":1}}"#;
        let body = [&*message(arguments), &part("p1", "abc"), &part("p2", "\r\n--b;2"), END].concat();
        assert_eq!(
            join(&body).unwrap(),
            r#"{"id":1,"params":{"arguments":{"n":9007199254740993,"image":"YWJj","list":[["DQotLWI7Mg=="]],"as":{"$part":"x","is":1}}}}"#
        );
        let alone = format!("for old readers\r\n{}{END}", message("{}"));
        assert_eq!(join(&alone).unwrap(), r#"{"id":1,"params":{"arguments":{}}}"#);
    }

    #[test]
    fn what_cannot_be_read_in_one_way_is_refused() {
        let one = message(r#"{"a":{"$part":"cid:p1"}}"#);
        let twice = message(r#"{"a":{"$part":"cid:p1"},"b":{"$part":"cid:p1"}}"#);
        let deep = format!("{}{}{}", r#"{"a":"#.repeat(40), r#"{"$part":"p1"}"#, "}".repeat(40));
        for body in [
            String::new(),
            "no boundary".into(),
            format!("{one}{END}"),
            format!("{one}{}", part("p1", "x")),
            format!("{twice}{}{END}", part("p1", "x")),
            format!("{one}{}{}{END}", part("p1", "x"), part("p1", "y")),
            format!("{one}{}{}{END}", part("p1", "x"), part("p2", "y")),
            format!("{one}\r\n--b;1\r\n\r\nx{END}"),
            format!("{one}\r\n--b;1\r\nContent-ID: p1\r\nContent-Transfer-Encoding: base64\r\n\r\nx{END}"),
            format!("{}{}{END}", message(&deep), part("p1", "x")),
            format!(
                "{}{}{END}",
                message("{}"),
                (0..70).map(|id| part(&id.to_string(), "")).collect::<String>()
            ),
            format!("--b;1\r\n\r\n[1]{END}"),
        ] {
            assert!(join(&body).is_err(), "{body}");
        }
    }
}
