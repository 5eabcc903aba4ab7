//! The tasks, with the servers of the demo.

use std::path::Path;

use serde_json::{Value, json};

/// What a person wants, and the calls that it takes.
pub(super) struct Task {
    pub(super) wish: &'static str,
    pub(super) steps: &'static [Step],
}

/// A call, and the words with which an agent searches for its tool.
pub(super) struct Step {
    pub(super) wish: &'static str,
    pub(super) tool: &'static str,
    pub(super) arguments: fn(&Path) -> Value,
}

/// The servers that the tasks need.
pub(super) const SERVERS: [&str; 2] = ["files", "office"];

const DAY: &str = "2026-07-28";

/// The tasks. Some of the tools of the later ones were used before, as in days of work.
pub(super) const ALL: &[Task] = &[
    Task {
        wish: "Note what the plan says about Friday",
        steps: &[
            Step {
                wish: "read a text file",
                tool: "files__read_file",
                arguments: |folder| json!({"path": folder.join("plan.txt")}),
            },
            Step {
                wish: "write down a note",
                tool: "office__add_note",
                arguments: |_| json!({"text": "Friday is release day"}),
            },
        ],
    },
    Task {
        wish: "Is there something new in my mail? Answer Grace that the issue is done by Friday",
        steps: &[
            Step {
                wish: "which messages have I not read",
                tool: "office__list_unread",
                arguments: |_| json!({}),
            },
            Step {
                wish: "open a message",
                tool: "office__read_message",
                arguments: |_| json!({"message": 2}),
            },
            Step {
                wish: "answer an e-mail",
                tool: "office__reply_to_message",
                arguments: |_| json!({"message": 2, "body": "It is."}),
            },
        ],
    },
    Task {
        wish: "Find an hour for a retrospective, put it into my calendar and invite Grace",
        steps: &[
            Step {
                wish: "when do I have free time",
                tool: "office__find_free_time",
                arguments: |_| json!({"day": DAY}),
            },
            Step {
                wish: "put an appointment into the calendar",
                tool: "office__create_event",
                arguments: |_| json!({"title": "Retrospective", "day": DAY, "hour": 11}),
            },
            Step {
                wish: "invite somebody to an appointment",
                tool: "office__invite_guest",
                arguments: |_| json!({"event": 3, "who": "grace"}),
            },
        ],
    },
    Task {
        wish: "What did I note about the release, and who comes to the review?",
        steps: &[
            Step {
                wish: "search my notes",
                tool: "office__search_notes",
                arguments: |_| json!({"query": "release"}),
            },
            Step {
                wish: "who comes to an appointment",
                tool: "office__list_guests",
                arguments: |_| json!({"event": 2}),
            },
        ],
    },
    Task {
        wish: "Report that the report is late, and tell Ada by mail",
        steps: &[
            Step {
                wish: "report a bug",
                tool: "office__create_issue",
                arguments: |_| json!({"title": "The report is late"}),
            },
            Step {
                wish: "answer an e-mail",
                tool: "office__reply_to_message",
                arguments: |_| json!({"message": 1, "body": "The report is late."}),
            },
        ],
    },
    Task {
        wish: "Read the plan once more, and note that the report is late",
        steps: &[
            Step {
                wish: "read a text file",
                tool: "files__read_file",
                arguments: |folder| json!({"path": folder.join("plan.txt")}),
            },
            Step {
                wish: "write down a note",
                tool: "office__add_note",
                arguments: |_| json!({"text": "The report is late"}),
            },
        ],
    },
];

/// Returns whether a task needs a tool.
pub(super) fn need(tool: &str) -> bool {
    ALL.iter().flat_map(|task| task.steps).any(|step| step.tool == tool)
}
