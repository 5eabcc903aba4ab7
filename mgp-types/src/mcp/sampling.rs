//! Sampling: a server asks the model of its client.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::body::body;
use super::shape::{Shape, Shaped};
use super::task::TaskMetadata;
use super::union::open_enum;
use super::{ForRevision, Meta, Number, Role, SamplingContent, Tool};
use crate::{RawJson, Revision};

/// The content of a message to or from a model: one block, or an array of blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum SamplingContents {
    /// One block outside any array, the only form before 2025-11-25.
    One(SamplingContent),
    /// An array of blocks.
    Many(Vec<SamplingContent>),
}

impl SamplingContents {
    /// Returns the blocks.
    pub fn as_slice(&self) -> &[SamplingContent] {
        match self {
            Self::One(block) => std::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }

    /// Returns the only block, or a block of text that holds the texts of all blocks and names the others.
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

crate::convert!(SamplingContent => SamplingContents, block => Self::One(block));

crate::convert!(Vec<SamplingContent> => SamplingContents, blocks => Self::Many(blocks));

crate::convert!(&str => SamplingContents, text => Self::One(SamplingContent::text(text)));

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
    pub struct SamplingMessage and meta [since V2025_11_25] {
        /// The speaker.
        required role: Role = "role";
        /// The content of the message.
        required content: SamplingContents = "content";
    }

    /// A hint at a model.
    pub struct ModelHint {
        /// A part of the model's name.
        optional name: String = "name" => with_name;
    }

    /// The model that the server prefers, as priorities from 0 to 1.
    pub struct ModelPreferences {
        /// The preferred models, the best first.
        optional hints: Vec<ModelHint> = "hints" => with_hints;
        /// The weight of a low cost.
        optional cost_priority: Number = "costPriority" => with_cost_priority;
        /// The weight of speed.
        optional speed_priority: Number = "speedPriority" => with_speed_priority;
        /// The weight of intelligence.
        optional intelligence_priority: Number = "intelligencePriority" => with_intelligence_priority;
    }

    /// The freedom of the model to call tools; absent means that the model decides.
    pub struct ToolChoice {
        /// The mode of the choice.
        optional mode: ToolChoiceMode = "mode" => with_mode;
    }

    /// The params of `sampling/createMessage`.
    pub struct CreateMessageParams {
        /// Metadata.
        optional meta: Meta = "_meta" [until V2025_11_25];
        /// The conversation so far.
        required messages: Vec<SamplingMessage> = "messages";
        /// The model that the server prefers.
        optional model_preferences: ModelPreferences = "modelPreferences" => with_model_preferences;
        /// The instructions that the model gets before the conversation.
        optional system_prompt: String = "systemPrompt" => with_system_prompt;
        /// The servers whose context the client should add.
        optional include_context: IncludeContext = "includeContext" => with_include_context;
        /// The freedom of the model in its choice of words.
        optional temperature: Number = "temperature" => with_temperature;
        /// The number of tokens that the model may write.
        required max_tokens: i64 = "maxTokens";
        /// The texts at which the model stops.
        optional stop_sequences: Vec<String> = "stopSequences" => with_stop_sequences;
        /// Members for the model's provider: an object.
        optional metadata: RawJson = "metadata" => with_metadata;
        /// The wish to run the request as a task.
        optional task: TaskMetadata = "task" [only V2025_11_25];
        /// The tools that the model may call.
        optional tools: Vec<Tool> = "tools" [since V2025_11_25] => with_tools;
        /// The freedom of the model to call the tools.
        optional tool_choice: ToolChoice = "toolChoice" [since V2025_11_25] => with_tool_choice;
    }

    /// The result of `sampling/createMessage`.
    pub struct CreateMessageResult and meta => with_meta {
        /// The speaker.
        required role: Role = "role";
        /// The content of the message.
        required content: SamplingContents = "content";
        /// The model that said it.
        required model: String = "model";
        /// The reason why the model stopped.
        optional stop_reason: StopReason = "stopReason" => with_stop_reason;
    }
}

impl SamplingMessage {
    /// Creates a message that the user says.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, SamplingContent::text(text))
    }

    /// Creates a message that the model says.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, SamplingContent::text(text))
    }
}

open_enum! {
    /// The servers whose context the client should add; deprecated beyond `none`.
    pub enum IncludeContext {
        /// No server's context.
        None = "none",
        /// The context of the asking server.
        ThisServer = "thisServer",
        /// The context of all servers.
        AllServers = "allServers",
    }

    /// The freedom of the model to call tools.
    pub enum ToolChoiceMode {
        /// The model decides.
        Auto = "auto",
        /// The model must call a tool.
        Required = "required",
        /// The model must not call a tool.
        None = "none",
    }

    /// The reason why the model stopped.
    pub enum StopReason {
        /// The model was done.
        EndTurn = "endTurn",
        /// The model wrote a stop sequence.
        StopSequence = "stopSequence",
        /// The model used up its tokens.
        MaxTokens = "maxTokens",
        /// The model wants to call tools.
        ToolUse = "toolUse",
    }
}
