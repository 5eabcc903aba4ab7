//! Sampling: a server asks the model of its client.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::body::{body, builders};
use super::open_enum::open_enum;
use super::shape::{Shape, Shaped};
use super::task::TaskMetadata;
use super::{ForRevision, Meta, Number, Role, SamplingContent, Tool};
use crate::{RawJson, Revision};

/// The content of a message to or from a model: one block, or an array of blocks.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SamplingContents {
    /// One block outside any array, the only form before 2025-11-25.
    One(SamplingContent),
    /// An array of blocks.
    Many(Vec<SamplingContent>),
}

impl SamplingContents {
    /// The blocks.
    pub fn as_slice(&self) -> &[SamplingContent] {
        match self {
            Self::One(block) => std::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }

    /// The only block, or one of text that holds the texts of all and names the others.
    fn merged(&self, revision: Revision) -> SamplingContent {
        if let [block] = self.as_slice() {
            return block.clone();
        }
        let mut text = String::new();
        for block in self.as_slice() {
            let stand_in = block.left_out(revision);
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(block.as_text().or(stand_in.as_text()).unwrap_or_default());
        }
        SamplingContent::text(text)
    }
}

impl ForRevision for SamplingContents {
    fn fit(&mut self, revision: Revision) {
        if revision < Revision::V2025_11_25 && matches!(self, Self::Many(_)) {
            *self = Self::One(self.merged(revision));
        }
        match self {
            Self::One(block) => block.fit(revision),
            Self::Many(blocks) => blocks.fit(revision),
        }
    }
}

impl Shaped for SamplingContents {
    fn shape() -> Shape {
        Shape::Each(SamplingContent::shape)
    }
}

impl From<SamplingContent> for SamplingContents {
    fn from(block: SamplingContent) -> Self {
        Self::One(block)
    }
}

impl From<Vec<SamplingContent>> for SamplingContents {
    fn from(blocks: Vec<SamplingContent>) -> Self {
        Self::Many(blocks)
    }
}

impl From<&str> for SamplingContents {
    fn from(text: &str) -> Self {
        Self::One(SamplingContent::text(text))
    }
}

impl Serialize for SamplingContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(block) => block.serialize(serializer),
            Self::Many(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = <&'de RawValue>::deserialize(deserializer)?.get();
        if value.starts_with('[') {
            serde_json::from_str(value).map(Self::Many).map_err(D::Error::custom)
        } else {
            serde_json::from_str(value).map(Self::One).map_err(D::Error::custom)
        }
    }
}

body! {
    /// A message of the conversation that the model continues.
    pub struct SamplingMessage {
        /// Who says it.
        required role: Role = "role";
        /// What is said.
        required content: SamplingContents = "content";
        /// Metadata.
        optional meta: Meta = "_meta" [since V2025_11_25];
    }
}

impl SamplingMessage {
    /// A text that the user says.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, SamplingContent::text(text))
    }

    /// A text that the model says.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, SamplingContent::text(text))
    }
}

body! {
    /// A hint at a model.
    pub struct ModelHint {
        /// A part of the model's name.
        optional name: String = "name";
    }
}

builders! {
    ModelHint {
        with_name: name: String,
    }
}

body! {
    /// Which model the server would like, each priority from 0 to 1.
    pub struct ModelPreferences {
        /// Models, the best first.
        optional hints: Vec<ModelHint> = "hints";
        /// How much a low cost matters.
        optional cost_priority: Number = "costPriority";
        /// How much speed matters.
        optional speed_priority: Number = "speedPriority";
        /// How much intelligence matters.
        optional intelligence_priority: Number = "intelligencePriority";
    }
}

builders! {
    ModelPreferences {
        with_hints: hints: Vec<ModelHint>,
        with_cost_priority: cost_priority: Number,
        with_speed_priority: speed_priority: Number,
        with_intelligence_priority: intelligence_priority: Number,
    }
}

open_enum! {
    /// Whose context the client should add; deprecated beyond `none`.
    pub enum IncludeContext {
        /// Nobody's.
        None = "none",
        /// The asking server's.
        ThisServer = "thisServer",
        /// That of all servers.
        AllServers = "allServers",
    }
}

open_enum! {
    /// Whether the model may call tools.
    pub enum ToolChoiceMode {
        /// It decides.
        Auto = "auto",
        /// It must call one.
        Required = "required",
        /// It must not.
        None = "none",
    }
}

body! {
    /// Whether the model may call tools; absent means that it decides.
    pub struct ToolChoice {
        /// Whether it may.
        optional mode: ToolChoiceMode = "mode";
    }
}

builders! {
    ToolChoice {
        with_mode: mode: ToolChoiceMode,
    }
}

open_enum! {
    /// Why the model stopped.
    pub enum StopReason {
        /// It was done.
        EndTurn = "endTurn",
        /// It wrote a stop sequence.
        StopSequence = "stopSequence",
        /// It used up its tokens.
        MaxTokens = "maxTokens",
        /// It wants to call tools.
        ToolUse = "toolUse",
    }
}

body! {
    /// The params of `sampling/createMessage`.
    pub struct CreateMessageParams {
        /// Metadata.
        optional meta: Meta = "_meta" [until V2025_11_25];
        /// The conversation so far.
        required messages: Vec<SamplingMessage> = "messages";
        /// Which model the server would like.
        optional model_preferences: ModelPreferences = "modelPreferences";
        /// What the model is told before the conversation.
        optional system_prompt: String = "systemPrompt";
        /// Whose context the client should add.
        optional include_context: IncludeContext = "includeContext";
        /// How freely the model chooses its words.
        optional temperature: Number = "temperature";
        /// How many tokens the model may write.
        required max_tokens: i64 = "maxTokens";
        /// The texts at which the model stops.
        optional stop_sequences: Vec<String> = "stopSequences";
        /// Members for the model's provider: an object.
        optional metadata: RawJson = "metadata";
        /// The wish to run the request as a task.
        optional task: TaskMetadata = "task" [only V2025_11_25];
        /// The tools that the model may call.
        optional tools: Vec<Tool> = "tools" [since V2025_11_25];
        /// Whether it may call them.
        optional tool_choice: ToolChoice = "toolChoice" [since V2025_11_25];
    }
}

builders! {
    CreateMessageParams {
        with_model_preferences: model_preferences: ModelPreferences,
        with_system_prompt: system_prompt: String,
        with_include_context: include_context: IncludeContext,
        with_temperature: temperature: Number,
        with_stop_sequences: stop_sequences: Vec<String>,
        with_metadata: metadata: RawJson,
        with_tools: tools: Vec<Tool>,
        with_tool_choice: tool_choice: ToolChoice,
    }
}

body! {
    /// The result of `sampling/createMessage`.
    pub struct CreateMessageResult {
        /// Who says it.
        required role: Role = "role";
        /// What is said.
        required content: SamplingContents = "content";
        /// The model that said it.
        required model: String = "model";
        /// Why the model stopped.
        optional stop_reason: StopReason = "stopReason";
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

builders! {
    CreateMessageResult {
        with_stop_reason: stop_reason: StopReason,
        with_meta: meta: Meta,
    }
}
