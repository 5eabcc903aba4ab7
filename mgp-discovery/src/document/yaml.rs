//! YAML, as Continue and Goose write it, read as a tree.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::{DocumentMember, DocumentNode, DocumentValue, Position, SyntaxError};

/// The number of levels that values may lie deep in one another.
const MAX_DEPTH: usize = 64;

/// The number of values that aliases may stand for.
const MAX_REPEATED: usize = 10_000;

pub(super) fn parse(text: &str) -> Result<DocumentNode, SyntaxError> {
    // The parser counts characters, edits count bytes.
    let mut offsets: Vec<usize> = text.char_indices().map(|(offset, _)| offset).collect();
    offsets.push(text.len());
    let (parser, anchors) = (Parser::new_from_str(text), HashMap::new());
    let mut reader = YamlReader { text, offsets, parser, anchors, spare: MAX_REPEATED };
    let mut root = None;
    while let Some((event, span)) = reader.next()? {
        match event {
            Event::StreamStart | Event::Nothing | Event::DocumentStart(_) | Event::DocumentEnd => {}
            Event::StreamEnd => break,
            _ if root.is_some() => {
                return Err(reader.wrong(span.start.index(), "the file holds a second document: keep one"));
            }
            event => root = Some(reader.node(event, span, 0)?),
        }
    }
    let mut root = root.unwrap_or_else(|| DocumentNode::new(text.len()..text.len(), DocumentValue::Null));
    if matches!(root.value, DocumentValue::Null) {
        root.value = DocumentValue::Map(Vec::new());
    }
    Ok(root)
}

struct YamlReader<'a> {
    text: &'a str,
    offsets: Vec<usize>,
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    anchors: HashMap<usize, DocumentNode>,
    /// The number of values that may still be repeated by aliases: few bytes of YAML can stand for very many values.
    spare: usize,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, SyntaxError> {
        let event = self.parser.next_event().transpose();
        event.map_err(|why: ScanError| self.wrong(why.marker().index(), why.info()))
    }

    fn wrong(&self, index: usize, what: &str) -> SyntaxError {
        SyntaxError { at: Position::of(self.text, self.offset(index)), what: what.to_owned() }
    }

    fn offset(&self, index: usize) -> usize {
        self.offsets.get(index).copied().unwrap_or(self.text.len())
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<DocumentNode, SyntaxError> {
        let start = self.offset(span.start.index());
        if depth > MAX_DEPTH {
            return Err(self.wrong(span.start.index(), "values are nested too deep"));
        }
        let (anchor, node) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let end = self.offset(span.end.index());
                let value = if style == ScalarStyle::Plain {
                    plain(&text)
                } else {
                    DocumentValue::Text(text.into_owned())
                };
                (anchor, DocumentNode::new(start..end, value))
            }
            Event::Alias(anchor) => return self.repeated(anchor, span),
            Event::SequenceStart(anchor, _) => (anchor, self.list(start, depth)?),
            Event::MappingStart(anchor, _) => (anchor, self.map(start, depth)?),
            _ => return Err(self.wrong(span.start.index(), "the file ends where a value is expected")),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn repeated(&mut self, anchor: usize, span: Span) -> Result<DocumentNode, SyntaxError> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(self.wrong(span.start.index(), "the alias names no value that comes before it"));
        };
        let size = count(node);
        let mut node = node.clone();
        let Some(spare) = self.spare.checked_sub(size) else {
            let what = "aliases repeat too many values: write the values out";
            return Err(self.wrong(span.start.index(), what));
        };
        self.spare = spare;
        node.span = self.offset(span.start.index())..self.offset(span.end.index());
        Ok(node)
    }

    fn list(&mut self, start: usize, depth: usize) -> Result<DocumentNode, SyntaxError> {
        let mut items: Vec<DocumentNode> = Vec::new();
        while let Some((event, span)) = self.next()? {
            if matches!(event, Event::SequenceEnd) {
                let last = items.last().map(|item| item.span.end);
                return Ok(DocumentNode::new(start..self.end(start, last, span), DocumentValue::List(items)));
            }
            items.push(self.node(event, span, depth + 1)?);
        }
        Err(self.wrong(usize::MAX, "the file ends within a list"))
    }

    fn map(&mut self, start: usize, depth: usize) -> Result<DocumentNode, SyntaxError> {
        let mut members: Vec<DocumentMember> = Vec::new();
        while let Some((event, span)) = self.next()? {
            if matches!(event, Event::MappingEnd) {
                let last = members.last().map(|member| member.node.span.end.max(member.key_span.end));
                let span = start..self.end(start, last, span);
                return Ok(DocumentNode::new(span, DocumentValue::Map(members)));
            }
            let key = self.node(event, span, depth + 1)?;
            let Some(name) = key.scalar() else {
                return Err(self.wrong(span.start.index(), "only texts can be names here"));
            };
            let Some((event, span)) = self.next()? else { break };
            let mut node = self.node(event, span, depth + 1)?;
            if matches!(node.value, DocumentValue::Null) && node.span.is_empty() {
                // The parser gives the position of the next token.
                node.span = key.span.end..key.span.end;
            }
            members.push(DocumentMember { key: name, key_span: key.span, node });
        }
        Err(self.wrong(usize::MAX, "the file ends within a table"))
    }

    /// Returns the end of a collection. A block ends with its last member; the parser sees the end only at the next
    /// token.
    fn end(&self, start: usize, last: Option<usize>, closing: Span) -> usize {
        let flow = self.text.as_bytes().get(start).is_some_and(|byte| matches!(byte, b'[' | b'{'));
        match last {
            Some(last) if !flow => last,
            _ => self.offset(closing.end.index()).max(start),
        }
    }
}

/// Returns the value that a scalar without quotes stands for.
fn plain(text: &str) -> DocumentValue {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => DocumentValue::Null,
        "true" | "True" | "TRUE" => DocumentValue::Bool(true),
        "false" | "False" | "FALSE" => DocumentValue::Bool(false),
        _ if text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
            && text.parse::<f64>().is_ok() =>
        {
            DocumentValue::Number(text.to_owned())
        }
        _ => DocumentValue::Text(text.to_owned()),
    }
}

fn count(node: &DocumentNode) -> usize {
    let within = match &node.value {
        DocumentValue::List(items) => items.iter().map(count).sum(),
        DocumentValue::Map(members) => members.iter().map(|member| count(&member.node)).sum(),
        _ => 0,
    };
    1 + within
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_the_text_has_them() {
        let text = "# é\na: 'ü'\r\nb:\n  - x # c\n  - {k: 1, l: true}\nc:\n";
        let node = parse(text).unwrap();
        assert_eq!(&text[node.get("a").unwrap().span.clone()], "'ü'");
        let items = node.get("b").unwrap().items();
        assert_eq!(&text[items[0].span.clone()], "x");
        assert_eq!(&text[items[1].span.clone()], "{k: 1, l: true}");
        assert!(matches!(node.get("c").unwrap().value, DocumentValue::Null));
    }

    #[test]
    fn aliases_are_followed_and_bounded() {
        let node = parse("a: &x {k: v}\nb: *x\n").unwrap();
        assert_eq!(node.at(&["a", "k"]).unwrap().text(), node.at(&["b", "k"]).unwrap().text());
        let level =
            |level: usize| format!("a{level}: &a{level} [{}]\n", format!("*a{},", level - 1).repeat(10));
        let bomb = format!("a0: &a0 [{}]\n{}", "1,".repeat(10), (1..9).map(level).collect::<String>());
        assert!(parse(&bomb).unwrap_err().what.contains("aliases"));
    }

    #[test]
    fn a_file_without_contents_is_an_empty_table() {
        assert!(parse("# nothing\n").unwrap().members().is_empty());
        assert!(parse("").unwrap().members().is_empty());
    }

    #[test]
    fn what_is_wrong_is_said_with_line_and_column() {
        assert_eq!(parse("a: 1\nb: [\n").unwrap_err().at.line, 3);
    }
}
