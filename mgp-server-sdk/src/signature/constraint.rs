//! The constraints of an argument, the keywords of JSON Schema that they become, and texts that a pattern matches.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Map, Value};

use super::FieldType;

/// A demand on the values of an argument.
///
/// A `Custom` demand has no keyword: the validator of this name, which [`Server::validator`](crate::Server::validator)
/// registers, looks at the arguments once the schema has nothing against this one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Constraint {
    /// The least number of characters of a text.
    MinLength(u64),
    /// The largest number of characters of a text.
    MaxLength(u64),
    /// A regular expression that a text matches, in time that grows with the text only.
    Pattern(String),
    /// The least number.
    MinValue(Value),
    /// The largest number.
    MaxValue(Value),
    /// The possible values.
    OneOf(Vec<Value>),
    /// The value that stands in for an absent argument; it demands nothing.
    Default(Value),
    /// All of these demands.
    All(Vec<Self>),
    /// A demand that holds if at least one of these demands does.
    Any(Vec<Self>),
    /// The contrary of a demand.
    Not(Box<Self>),
    /// A demand on the values that fit a condition, and one on the others.
    If {
        /// The condition.
        condition: Box<Self>,
        /// The demand on values that fit the condition.
        then: Box<Self>,
        /// The demand on the other values.
        otherwise: Option<Box<Self>>,
    },
    /// The demand of the validator of this name.
    Custom(String),
}

/// The place of a constraint, which decides what it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConstraintPlace {
    /// Of the argument itself.
    Field,
    /// Within `All` only.
    All,
    /// The demand stands where its outcome is negated, or one of several.
    Nested,
}

impl Constraint {
    /// Adds the keywords of the constraint to a schema. A keyword that the schema has already goes into `allOf`.
    pub(super) fn write(&self, schema: &mut Map<String, Value>) {
        if let Self::All(all) = self {
            let all = all.iter().map(Self::schema).filter(|part| !part.is_empty()).map(Value::Object);
            let all: Vec<_> = all.collect();
            if !all.is_empty() {
                add_to_all(schema, all);
            }
            return;
        }
        let mut own = Map::new();
        let mut set = |keyword: &str, value: Value| _ = own.insert(keyword.to_owned(), value);
        match self {
            Self::MinLength(length) => set("minLength", (*length).into()),
            Self::MaxLength(length) => set("maxLength", (*length).into()),
            Self::Pattern(pattern) => set("pattern", pattern.as_str().into()),
            Self::MinValue(least) => set("minimum", least.clone()),
            Self::MaxValue(largest) => set("maximum", largest.clone()),
            Self::OneOf(values) => set("enum", values.clone().into()),
            Self::Default(value) => set("default", value.clone()),
            Self::Any(any) => set("anyOf", any.iter().map(|one| Value::Object(one.schema())).collect()),
            Self::Not(not) => set("not", Value::Object(not.schema())),
            Self::If { condition, then, otherwise } => {
                set("if", Value::Object(condition.schema()));
                set("then", Value::Object(then.schema()));
                if let Some(otherwise) = otherwise {
                    set("else", Value::Object(otherwise.schema()));
                }
            }
            Self::All(_) | Self::Custom(_) => {}
        }
        if own.keys().any(|keyword| schema.contains_key(keyword)) {
            add_to_all(schema, vec![Value::Object(own)]);
        } else {
            schema.extend(own);
        }
    }

    fn schema(&self) -> Map<String, Value> {
        let mut schema = Map::new();
        self.write(&mut schema);
        schema
    }

    /// Returns the parts of the constraint.
    pub(super) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().collect(),
            Self::Not(part) => vec![part],
            Self::If { condition, then, otherwise } => {
                [&**condition, &**then].into_iter().chain(otherwise.as_deref()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Checks that the constraints can hold for an argument of this type.
    pub(super) fn check_all(all: &[Self], kind: &FieldType) -> Result<(), String> {
        let mut left = MAX_CONSTRAINTS;
        all.iter().try_for_each(|constraint| {
            constraint.check(kind.present(), ConstraintPlace::Field, MAX_DEPTH, &mut left)
        })?;
        if all.iter().filter(|constraint| matches!(constraint, Self::Default(_))).count() > 1 {
            return Err("it has two defaults".into());
        }
        // An argument has bounds of its length or of its value, never of both.
        let [least, largest] = [0, 1].map(|end| all.iter().find_map(|constraint| constraint.bounds()[end]));
        if let (Some(least), Some(largest)) = (least, largest)
            && least > largest
        {
            return Err(format!("nothing is at least {least} and at most {largest}"));
        }
        Ok(())
    }

    fn check(
        &self,
        kind: &FieldType,
        place: ConstraintPlace,
        depth: usize,
        left: &mut usize,
    ) -> Result<(), String> {
        *left =
            left.checked_sub(1).ok_or_else(|| format!("it has more than {MAX_CONSTRAINTS} constraints"))?;
        let depth = depth.checked_sub(1).ok_or("its constraints are nested too deeply")?;
        let of = |wanted: bool, what: &str| {
            if wanted { Ok(()) } else { Err(format!("{what} cannot hold for the type `{}`", kind.name())) }
        };
        match self {
            Self::MinLength(_) | Self::MaxLength(_) | Self::Pattern(_) => {
                of(*kind == FieldType::String, "a length or a pattern")?;
            }
            Self::MinValue(bound) | Self::MaxValue(bound) => {
                of(matches!(kind, FieldType::Integer | FieldType::Float) && bound.is_number(), "a bound")?;
            }
            Self::OneOf(values) => {
                if values.is_empty() || values.len() > MAX_CONSTRAINTS {
                    return Err(format!("a choice has 1 to {MAX_CONSTRAINTS} values"));
                }
                of(values.iter().all(|value| kind.holds(value)), "a choice")?;
            }
            Self::Default(value) => {
                if place != ConstraintPlace::Field {
                    return Err("a default stands by itself".into());
                }
                of(kind.holds(value), "the default")?;
            }
            Self::Custom(name) => {
                if place == ConstraintPlace::Nested || name.is_empty() {
                    return Err("a validator has a name, and stands by itself or in `All`".into());
                }
            }
            Self::All(all) if all.is_empty() => return Err("`All` is empty".into()),
            Self::Any(any) if any.is_empty() => return Err("`Any` is empty".into()),
            Self::All(_) | Self::Any(_) | Self::Not(_) | Self::If { .. } => {}
        }
        let stays = matches!(self, Self::All(_)) && place != ConstraintPlace::Nested;
        let place = if stays { ConstraintPlace::All } else { ConstraintPlace::Nested };
        self.parts().into_iter().try_for_each(|part| part.check(kind, place, depth, left))
    }

    /// Returns the least and the largest length or value.
    #[expect(clippy::cast_precision_loss, reason = "only the order counts")]
    fn bounds(&self) -> [Option<f64>; 2] {
        match self {
            Self::MinLength(length) => [Some(*length as f64), None],
            Self::MaxLength(length) => [None, Some(*length as f64)],
            Self::MinValue(value) => [value.as_f64(), None],
            Self::MaxValue(value) => [None, value.as_f64()],
            _ => [None; 2],
        }
    }
}

fn add_to_all(schema: &mut Map<String, Value>, parts: Vec<Value>) {
    let all = schema.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(all) = all {
        all.extend(parts);
    }
}

/// The largest number of constraints of one argument, and of values of one choice.
const MAX_CONSTRAINTS: usize = 1000;

/// The largest depth of constraints within constraints.
const MAX_DEPTH: usize = 16;

/// Returns texts that the pattern may match, the shortest first; none for a pattern that cannot be read.
pub(super) fn samples(pattern: &str) -> Vec<String> {
    let Some(hir) = parse(pattern) else { return Vec::new() };
    let mut samples = Vec::new();
    for more in 0..MAX_MORE {
        for choice in 0..CHOICES {
            let mut text = String::new();
            append(&hir, more, choice, &mut text);
            if text.len() <= MAX_SAMPLE_BYTES && !samples.contains(&text) {
                samples.push(text);
            }
        }
    }
    samples
}

fn parse(pattern: &str) -> Option<Hir> {
    ParserBuilder::new().nest_limit(MAX_NESTING).build().parse(pattern).ok()
}

/// Appends a text that matches: with `more` repetitions than needed, and the alternative numbered `choice`.
fn append(hir: &Hir, more: u32, choice: usize, text: &mut String) {
    if text.len() > MAX_SAMPLE_BYTES {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.extend(pick(class, choice)),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            for _ in 0..repetition.min.saturating_add(more).min(most) {
                append(&repetition.sub, more, choice, text);
                if text.len() > MAX_SAMPLE_BYTES {
                    return;
                }
            }
        }
        HirKind::Capture(capture) => append(&capture.sub, more, choice, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| append(part, more, choice, text)),
        HirKind::Alternation(parts) => append(&parts[choice % parts.len()], more, choice, text),
    }
}

/// Returns a character of the class: a letter or a digit where the class has one.
fn pick(class: &Class, choice: usize) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.ranges().iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) => {
            class.ranges().iter().map(|range| (range.start().into(), range.end().into())).collect()
        }
    };
    let has = |character: &char| ranges.iter().any(|(first, last)| (first..=last).contains(&character));
    let plain: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').filter(has).collect();
    match plain.len() {
        0 => ranges.first().map(|(first, _)| *first),
        number => plain.get(choice % number).copied(),
    }
}

/// The largest depth of groups within groups.
const MAX_NESTING: u32 = 64;

/// The largest length of a sample, in bytes.
const MAX_SAMPLE_BYTES: usize = 256;

/// The number of repetitions, beyond those that a pattern needs, that samples are made with.
const MAX_MORE: u32 = 16;

/// The number of alternatives that are tried.
const CHOICES: usize = 4;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(constraints: &[Constraint]) -> Value {
        let mut schema = Map::new();
        for constraint in constraints {
            constraint.write(&mut schema);
        }
        Value::Object(schema)
    }

    #[test]
    fn constraints_are_composed() {
        let (short, long) = (Constraint::MaxLength(2), Constraint::MinLength(5));
        let composed = [
            Constraint::Any(vec![short.clone(), long.clone()]),
            Constraint::Not(Box::new(Constraint::OneOf(vec!["no".into()]))),
            Constraint::If {
                condition: Box::new(short),
                then: Box::new(Constraint::Pattern("^a".into())),
                otherwise: Some(Box::new(Constraint::All(vec![
                    Constraint::Pattern("^b".into()),
                    Constraint::Custom("checked".into()),
                ]))),
            },
            Constraint::Any(vec![long]),
        ];
        assert_eq!(
            schema(&composed),
            json!({
                "anyOf": [{"maxLength": 2}, {"minLength": 5}],
                "not": {"enum": ["no"]},
                "if": {"maxLength": 2}, "then": {"pattern": "^a"}, "else": {"allOf": [{"pattern": "^b"}]},
                "allOf": [{"anyOf": [{"minLength": 5}]}],
            })
        );
    }

    #[test]
    fn constraints_that_mean_nothing_are_refused() {
        let deep = (0..20).fold(Constraint::MinLength(1), |inner, _| Constraint::Not(Box::new(inner)));
        for (kind, constraints) in [
            (FieldType::Integer, vec![Constraint::MinLength(1)]),
            (FieldType::String, vec![Constraint::MinValue(1.into())]),
            (FieldType::Integer, vec![Constraint::MinValue("1".into())]),
            (FieldType::Boolean, vec![Constraint::OneOf(vec![1.into()])]),
            (FieldType::String, vec![Constraint::OneOf(vec![])]),
            (FieldType::String, vec![Constraint::Default(1.into())]),
            (FieldType::String, vec![Constraint::Default("a".into()), Constraint::Default("b".into())]),
            (FieldType::String, vec![Constraint::Any(vec![Constraint::Default("a".into())])]),
            (FieldType::String, vec![Constraint::Not(Box::new(Constraint::Custom("a".into())))]),
            (FieldType::String, vec![Constraint::All(vec![])]),
            (FieldType::String, vec![Constraint::MinLength(3), Constraint::MaxLength(2)]),
            (FieldType::Float, vec![Constraint::MaxValue(0.5.into()), Constraint::MinValue(1.into())]),
            (FieldType::String, vec![deep]),
        ] {
            assert!(Constraint::check_all(&constraints, &kind).is_err(), "{constraints:?}");
        }
        let optional = FieldType::Optional(Box::new(FieldType::String));
        let all = [Constraint::All(vec![Constraint::MinLength(1), Constraint::Custom("a".into())])];
        assert_eq!(Constraint::check_all(&all, &optional), Ok(()));
    }

    #[test]
    fn samples_come_in_several_lengths() {
        let tickers = samples("^[A-Z]{1,5}$");
        assert!(
            ["A", "B", "AAAAA"].iter().all(|sample| tickers.iter().any(|ticker| ticker == sample)),
            "{tickers:?}"
        );
        assert_eq!(samples("^(yes|no)$"), ["yes", "no"]);
        assert_eq!(samples("^a-[0-9]{2}$")[..2], ["a-00", "a-11"]);
        assert!(samples("^a{200}b{200}$").is_empty(), "too long");
        assert!(samples("(?=a)").is_empty() && samples("(").is_empty(), "unreadable");
    }
}
