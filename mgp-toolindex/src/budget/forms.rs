use std::borrow::Cow;

use mgp_types::RawJson;

use super::compact;

/// What a tool says of itself, at one length.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Form<'a> {
    /// What it does.
    pub description: Cow<'a, str>,
    /// What it wants.
    pub schema: RawJson,
    /// Whether it says less than the tool itself does.
    pub shortened: bool,
}

impl<'a> Form<'a> {
    /// All that the tool says.
    pub fn whole(description: &'a str, schema: &RawJson) -> Self {
        Self { description: Cow::Borrowed(description), schema: compact::value(schema), shortened: false }
    }
}

/// The forms of what a tool says of itself, each shorter than the one before.
#[derive(Debug, Clone)]
pub struct Forms<'a> {
    description: &'a str,
    schema: &'a RawJson,
    step: usize,
}

impl<'a> Forms<'a> {
    /// The forms of this description and this JSON Schema.
    pub const fn of(description: &'a str, schema: &'a RawJson) -> Self {
        Self { description, schema, step: 0 }
    }
}

impl<'a> Iterator for Forms<'a> {
    type Item = Form<'a>;

    fn next(&mut self) -> Option<Form<'a>> {
        self.step += 1;
        (self.step == 1).then(|| Form::whole(self.description, self.schema))
    }
}
