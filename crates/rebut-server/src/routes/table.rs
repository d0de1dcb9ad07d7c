//! The table of routes. Nothing is served that is not in it.

use super::{
    Debate, Handler, Method, Reply, RequestBody, Route, SchemaOf, catalog, code, debates, events,
    exports, gates, inbox, policy, readings, schema_of, service, steering, voting, webhooks,
};
use crate::{
    keys::Role::{self, Admin, Approver, Viewer},
    resolver::{FormatCard, PersonaCard, TurnRequest},
    webhooks::{MadeWebhook, Tested, WebhookRequest},
};
use rebut_app::request::DebateRequest;
use rebut_engine::{
    audit::Audit,
    event::{GateDecided, HumanAnswered, HumanMarked},
    facts::CodeRecorded,
    outbox::Webhook,
    policy::PolicyInsights,
    report::Document,
};
use schemars::JsonSchema;
use serde_json::Value;
use std::collections::BTreeMap;

macro_rules! go {
    ($handler:path) => {
        |call| Box::pin($handler(call))
    };
}

/// Headers of requests and answers that mean something, with what they mean and the form of their
/// value.
pub const HEADERS: &[(&str, &str, &str)] = &[
    (
        "Idempotency-Key",
        "The same key with the same request starts one debate only, however often it is sent.",
        "^[!-~]{1,200}$",
    ),
    (
        "Prefer",
        "`wait=SECONDS` answers with the result if the debate ends within that time, at most 60 s.",
        "^[ -~]{0,200}$",
    ),
    (
        "Last-Event-ID",
        "The number of the last event that was seen; goes before `after`.",
        "^[0-9]{1,18}$",
    ),
    (
        "Location",
        "Where it is.",
        "^/v1/(debates|webhooks)/[0-9a-f-]{36}$",
    ),
    (
        "Idempotency-Replayed",
        "The debate was there already.",
        "^true$",
    ),
    (
        "Preference-Applied",
        "What of `Prefer` was done.",
        "^wait=[0-9]+$",
    ),
    (
        "Set-Cookie",
        "A session, for pages of this server only; it says nothing of the key.",
        "^rebut=",
    ),
];

/// Parts of paths, with what they mean and the form of their value.
pub const PARAMETERS: &[(&str, &str, &str)] = &[
    (
        "id",
        "The debate.",
        "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
    ),
    (
        "webhook",
        "The webhook.",
        "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
    ),
    ("n", "The number of a version, from 1.", "^[1-9][0-9]{0,8}$"),
    ("gate", "The gate's name.", "^[^/]{1,200}$"),
    ("turn", "The turn's name, percent-encoded.", ""),
    ("name", "The format's name.", "^[a-z][a-z-]{0,63}$"),
];

const DEBATES: &str = "debates";
const READINGS: &str = "readings";
const STEERING: &str = "steering";
const WEBHOOKS: &str = "webhooks";
const CATALOG: &str = "catalog";
const SERVICE: &str = "service";

const fn get(
    path: &'static str,
    id: &'static str,
    tag: &'static str,
    summary: &'static str,
    handler: Handler,
) -> Route {
    Route {
        method: Method::Get,
        path,
        id,
        tag,
        summary,
        min_role: Some(Viewer),
        debate: Debate::None,
        query: None,
        headers: &[],
        body: None,
        replies: &[],
        error_statuses: &[],
        reads_only: false,
        handler,
    }
}

const fn of_debate(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    handler: Handler,
) -> Route {
    Route {
        debate: Debate::Own,
        ..get(path, id, READINGS, summary, handler)
    }
}

const fn act(
    min_role: Role,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    handler: Handler,
) -> Route {
    Route {
        method: Method::Post,
        min_role: Some(min_role),
        debate: Debate::Own,
        error_statuses: &[409],
        ..get(path, id, STEERING, summary, handler)
    }
}

/// Something with webhooks. Their addresses may hold secrets of their receivers, so reading them
/// takes as much as making them.
const fn hook(
    method: Method,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    handler: Handler,
) -> Route {
    Route {
        method,
        min_role: Some(Admin),
        error_statuses: &[404],
        ..get(path, id, WEBHOOKS, summary, handler)
    }
}

const fn carries<T: JsonSchema>() -> Option<RequestBody> {
    Some(RequestBody {
        schema: schema_of::<T>,
        required: true,
    })
}

const fn may_carry<T: JsonSchema>() -> Option<RequestBody> {
    Some(RequestBody {
        schema: schema_of::<T>,
        required: false,
    })
}

const fn asks<T: JsonSchema>() -> Option<SchemaOf> {
    Some(schema_of::<T>)
}

pub const ROUTES: &[Route] = &[
    Route {
        method: Method::Post,
        min_role: Some(Admin),
        headers: &["Idempotency-Key", "Prefer"],
        body: carries::<DebateRequest>(),
        replies: &[
            Reply {
                headers: &["Location", "Idempotency-Replayed"],
                ..Reply::json::<debates::DebateCard>(202, "It runs.")
            },
            Reply {
                headers: &["Location", "Idempotency-Replayed", "Preference-Applied"],
                ..Reply::json::<Document>(200, "It ended in the time that `Prefer` gave it.")
            },
        ],
        error_statuses: &[409],
        ..get(
            "/v1/debates",
            "createDebate",
            DEBATES,
            "Starts a debate.",
            go!(debates::create),
        )
    },
    Route {
        query: asks::<debates::ListQuery>(),
        replies: &[Reply::json::<debates::DebateList>(
            200,
            "Debates, newest first.",
        )],
        ..get(
            "/v1/debates",
            "listDebates",
            DEBATES,
            "Lists debates.",
            go!(debates::list),
        )
    },
    Route {
        tag: DEBATES,
        replies: &[Reply::json::<debates::DebateDetail>(200, "The debate.")],
        ..of_debate(
            "/v1/debates/{id}",
            "getDebate",
            "A debate with everything that was pinned at its start.",
            go!(debates::show),
        )
    },
    Route {
        method: Method::Delete,
        tag: DEBATES,
        replies: &[Reply::empty(
            204,
            "It is gone, with everything that was derived from it.",
        )],
        ..act(
            Admin,
            "/v1/debates/{id}",
            "deleteDebate",
            "Removes a debate for good.",
            go!(debates::remove),
        )
    },
    Route {
        replies: &[Reply::json::<debates::DebateStatus>(
            200,
            "Where it stands.",
        )],
        ..of_debate(
            "/v1/debates/{id}/status",
            "getStatus",
            "Where a debate stands.",
            go!(debates::status),
        )
    },
    Route {
        replies: &[Reply::json::<Document>(
            200,
            "The result; `outcome` is null while there is none.",
        )],
        ..of_debate(
            "/v1/debates/{id}/results",
            "getResults",
            "What came of a debate.",
            go!(debates::results),
        )
    },
    Route {
        query: asks::<events::EventsQuery>(),
        headers: &["Last-Event-ID"],
        replies: &[
            Reply {
                text: &["text/event-stream"],
                ..Reply::json::<events::EventPage>(
                    200,
                    "Events, in their order; a stream where `Accept` asks for one.",
                )
            },
            Reply::empty(
                204,
                "The stream is over: everything was seen, and nothing more comes.",
            ),
        ],
        ..of_debate(
            "/v1/debates/{id}/events",
            "listEvents",
            "The journal of a debate, as a page or as it grows.",
            go!(events::list),
        )
    },
    Route {
        query: asks::<events::WsQuery>(),
        replies: &[Reply::empty(
            101,
            "A WebSocket: each message is an event; commands go the other way.",
        )],
        error_statuses: &[426],
        ..of_debate(
            "/v1/debates/{id}/ws",
            "followDebate",
            "Follows and steers a debate over a WebSocket.",
            go!(events::ws),
        )
    },
    Route {
        replies: &[Reply::json::<readings::Turns>(
            200,
            "Turns, in the order they were asked.",
        )],
        ..of_debate(
            "/v1/debates/{id}/turns",
            "listTurns",
            "Every turn with its reply.",
            go!(readings::turns),
        )
    },
    Route {
        replies: &[Reply::json::<readings::Positions>(
            200,
            "Positions, by round.",
        )],
        ..of_debate(
            "/v1/debates/{id}/positions",
            "listPositions",
            "Who held what, and why.",
            go!(readings::positions),
        )
    },
    Route {
        replies: &[Reply::json::<readings::Conflicts>(
            200,
            "Conflicts, and which proposals stand.",
        )],
        ..of_debate(
            "/v1/debates/{id}/conflicts",
            "listConflicts",
            "Proposals that cannot both be followed.",
            go!(readings::conflicts),
        )
    },
    Route {
        replies: &[Reply::json::<readings::Votes>(200, "Counts, by round.")],
        ..of_debate(
            "/v1/debates/{id}/votes",
            "listVotes",
            "How positions were counted.",
            go!(readings::votes),
        )
    },
    Route {
        replies: &[Reply::json::<readings::Verdicts>(
            200,
            "Verdicts, and what they did to scores.",
        )],
        ..of_debate(
            "/v1/debates/{id}/verdicts",
            "listVerdicts",
            "What judges said of two sides.",
            go!(readings::verdicts),
        )
    },
    Route {
        replies: &[Reply::json::<readings::Evidence>(
            200,
            "Runs, uses of tools, notes of people, quotations.",
        )],
        ..of_debate(
            "/v1/debates/{id}/evidence",
            "listEvidence",
            "What was brought forward besides words.",
            go!(readings::evidence),
        )
    },
    Route {
        replies: &[Reply::json::<readings::Assumptions>(
            200,
            "Assumptions, with who stands on them.",
        )],
        ..of_debate(
            "/v1/debates/{id}/assumptions",
            "listAssumptions",
            "What positions take for granted.",
            go!(readings::assumptions),
        )
    },
    Route {
        replies: &[Reply::json::<readings::Usage>(
            200,
            "The whole, and each agent's part.",
        )],
        ..of_debate(
            "/v1/debates/{id}/usage",
            "getUsage",
            "What a debate cost.",
            go!(readings::usage),
        )
    },
    Route {
        replies: &[Reply::json::<code::Versions>(
            200,
            "Versions, without their code.",
        )],
        ..of_debate(
            "/v1/debates/{id}/code-versions",
            "listCodeVersions",
            "The versions of a debate's code.",
            go!(code::list),
        )
    },
    Route {
        replies: &[Reply::json::<CodeRecorded>(200, "The version.")],
        ..of_debate(
            "/v1/debates/{id}/code-versions/{n}",
            "getCodeVersion",
            "One version of a debate's code.",
            go!(code::show),
        )
    },
    Route {
        replies: &[Reply::text(
            "What it changed; empty where it is the first.",
            &["text/plain"],
        )],
        ..of_debate(
            "/v1/debates/{id}/code-versions/{n}/diff",
            "getCodeDiff",
            "What a version changed.",
            go!(code::diff),
        )
    },
    Route {
        replies: &[Reply::json::<gates::Gates>(
            200,
            "Gates, in the order they came.",
        )],
        ..of_debate(
            "/v1/debates/{id}/gates",
            "listGates",
            "Gates: what waits, and what was decided.",
            go!(gates::list),
        )
    },
    Route {
        body: may_carry::<gates::Verdict>(),
        replies: &[Reply::json::<GateDecided>(200, "The decision.")],
        ..act(
            Approver,
            "/v1/debates/{id}/approve",
            "approve",
            "Opens the gate that waits.",
            go!(gates::approve),
        )
    },
    Route {
        body: carries::<gates::Rejection>(),
        replies: &[Reply::json::<GateDecided>(200, "The decision.")],
        ..act(
            Approver,
            "/v1/debates/{id}/reject",
            "reject",
            "Refuses the gate that waits.",
            go!(gates::reject),
        )
    },
    Route {
        body: carries::<gates::Decision>(),
        replies: &[Reply::json::<GateDecided>(200, "The decision.")],
        ..act(
            Approver,
            "/v1/debates/{id}/gates/{gate}/decision",
            "decideGate",
            "Decides a gate by its name.",
            go!(gates::decide_named),
        )
    },
    Route {
        body: carries::<steering::Note>(),
        replies: &[Reply::empty(
            204,
            "It is in the journal; the next round hears it.",
        )],
        ..act(
            Approver,
            "/v1/debates/{id}/notes",
            "addNote",
            "Adds something the next round hears.",
            go!(steering::note),
        )
    },
    Route {
        body: carries::<steering::Answer>(),
        replies: &[Reply::json::<HumanAnswered>(200, "The answer.")],
        ..act(
            Approver,
            "/v1/debates/{id}/answer",
            "answer",
            "Chooses after a contested end.",
            go!(steering::answer),
        )
    },
    Route {
        body: carries::<steering::Answer>(),
        replies: &[Reply::json::<HumanMarked>(200, "What was recorded.")],
        ..act(
            Approver,
            "/v1/debates/{id}/mark",
            "markDebate",
            "Says which option turned out right.",
            go!(steering::mark),
        )
    },
    Route {
        body: carries::<steering::Redaction>(),
        replies: &[Reply::json::<steering::Redacted>(
            200,
            "The text is gone; the journal says so.",
        )],
        ..act(
            Admin,
            "/v1/debates/{id}/redact",
            "redactEvent",
            "Takes the text of an event out for good.",
            go!(steering::redact),
        )
    },
    Route {
        body: may_carry::<steering::Reason>(),
        replies: &[Reply::json::<debates::DebateCard>(202, "It ends.")],
        ..act(
            Admin,
            "/v1/debates/{id}/cancel",
            "cancelDebate",
            "Ends a debate; calls under way are dropped.",
            go!(steering::cancel),
        )
    },
    Route {
        body: may_carry::<steering::Nothing>(),
        replies: &[Reply::json::<debates::DebateCard>(
            202,
            "It pauses after the turns under way.",
        )],
        ..act(
            Admin,
            "/v1/debates/{id}/pause",
            "pauseDebate",
            "Lets turns under way finish, then leaves a debate.",
            go!(steering::pause),
        )
    },
    Route {
        body: may_carry::<steering::More>(),
        replies: &[Reply::json::<debates::DebateCard>(202, "It goes on.")],
        ..act(
            Admin,
            "/v1/debates/{id}/resume",
            "resumeDebate",
            "Goes on with a debate; nothing recorded is asked again.",
            go!(steering::resume),
        )
    },
    Route {
        headers: &["Idempotency-Key"],
        body: carries::<steering::ForkAt>(),
        replies: &[Reply {
            headers: &["Location", "Idempotency-Replayed"],
            ..Reply::json::<debates::DebateCard>(202, "The new debate runs.")
        }],
        ..act(
            Admin,
            "/v1/debates/{id}/fork",
            "forkDebate",
            "Starts a new debate from the turns before a step.",
            go!(steering::fork),
        )
    },
    Route {
        error_statuses: &[409],
        replies: &[Reply::json::<inbox::TurnRequests>(
            200,
            "Turns that wait for somebody.",
        )],
        ..of_debate(
            "/v1/debates/{id}/turn-requests",
            "listTurnRequests",
            "Turns that people or calling agents answer.",
            go!(inbox::list),
        )
    },
    Route {
        error_statuses: &[409],
        replies: &[Reply::json::<TurnRequest>(
            200,
            "The turn, with everything its agent is told.",
        )],
        ..of_debate(
            "/v1/debates/{id}/turn-requests/{turn}",
            "getTurnRequest",
            "One turn that waits.",
            go!(inbox::show),
        )
    },
    Route {
        body: carries::<inbox::Reply>(),
        replies: &[Reply::empty(204, "The reply was taken and is on record.")],
        ..act(
            Approver,
            "/v1/debates/{id}/turn-requests/{turn}",
            "answerTurnRequest",
            "Answers a turn that waits.",
            go!(inbox::answer),
        )
    },
    Route {
        replies: &[Reply::text("Everything that was said.", &["text/markdown"])],
        ..of_debate(
            "/v1/debates/{id}/transcript",
            "getTranscript",
            "Everything that was said.",
            go!(exports::transcript),
        )
    },
    Route {
        replies: &[Reply::text("One page without a script.", &["text/html"])],
        ..of_debate(
            "/v1/debates/{id}/report.html",
            "getReport",
            "A report for people.",
            go!(exports::report),
        )
    },
    Route {
        query: asks::<exports::ExportQuery>(),
        replies: &[Reply::text("The file.", exports::MEDIA_TYPES)],
        error_statuses: &[409],
        ..of_debate(
            "/v1/debates/{id}/export",
            "exportDebate",
            "A debate as a file.",
            go!(exports::export),
        )
    },
    Route {
        replies: &[Reply::json::<Audit>(
            200,
            "What was found; `ok` says whether anything is wrong.",
        )],
        ..of_debate(
            "/v1/debates/{id}/audit",
            "auditDebate",
            "Whether the journal is as it was written.",
            go!(exports::audit),
        )
    },
    Route {
        body: carries::<WebhookRequest>(),
        replies: &[Reply {
            headers: &["Location"],
            ..Reply::json::<MadeWebhook>(201, "It is on. Its secret is shown this once.")
        }],
        error_statuses: &[404, 409],
        ..hook(
            Method::Post,
            "/v1/webhooks",
            "createWebhook",
            "Has events of all debates of this owner posted somewhere.",
            go!(webhooks::add),
        )
    },
    Route {
        replies: &[Reply::json::<webhooks::WebhookList>(
            200,
            "Webhooks, oldest first.",
        )],
        ..hook(
            Method::Get,
            "/v1/webhooks",
            "listWebhooks",
            "Lists webhooks.",
            go!(webhooks::list),
        )
    },
    Route {
        replies: &[Reply::json::<Webhook>(200, "The webhook.")],
        ..hook(
            Method::Get,
            "/v1/webhooks/{webhook}",
            "getWebhook",
            "A webhook, without its secret.",
            go!(webhooks::show),
        )
    },
    Route {
        body: carries::<WebhookRequest>(),
        replies: &[Reply::json::<Webhook>(
            200,
            "The webhook as it is now. Its secret stays.",
        )],
        ..hook(
            Method::Put,
            "/v1/webhooks/{webhook}",
            "replaceWebhook",
            "Gives a webhook another address and other kinds, and switches it on.",
            go!(webhooks::replace),
        )
    },
    Route {
        replies: &[Reply::empty(
            204,
            "It is gone, with everything that was to be sent to it.",
        )],
        ..hook(
            Method::Delete,
            "/v1/webhooks/{webhook}",
            "deleteWebhook",
            "Removes a webhook.",
            go!(webhooks::remove),
        )
    },
    Route {
        body: may_carry::<steering::Nothing>(),
        replies: &[Reply::json::<Tested>(
            200,
            "What came back, also where it was not taken.",
        )],
        ..hook(
            Method::Post,
            "/v1/webhooks/{webhook}/test",
            "testWebhook",
            "Posts a signed test message now.",
            go!(webhooks::test),
        )
    },
    Route {
        query: asks::<webhooks::DeliveriesQuery>(),
        replies: &[Reply::json::<webhooks::DeliveryList>(
            200,
            "Deliveries, newest first.",
        )],
        ..hook(
            Method::Get,
            "/v1/webhooks/{webhook}/deliveries",
            "listDeliveries",
            "What waits, was taken, or was given up.",
            go!(webhooks::deliveries),
        )
    },
    Route {
        replies: &[Reply::json::<Vec<FormatCard>>(200, "Formats.")],
        ..get(
            "/v1/formats",
            "listFormats",
            CATALOG,
            "Formats of debates.",
            go!(catalog::formats),
        )
    },
    Route {
        replies: &[Reply::json::<Value>(200, "A JSON Schema.")],
        error_statuses: &[404],
        ..get(
            "/v1/formats/{name}/schema",
            "getFormatSchema",
            CATALOG,
            "The form of a format's input and settings.",
            go!(catalog::schema),
        )
    },
    Route {
        replies: &[Reply::json::<Value>(200, "Panels.")],
        ..get(
            "/v1/panels",
            "listPanels",
            CATALOG,
            "Panels by name.",
            go!(catalog::panels),
        )
    },
    Route {
        replies: &[Reply::json::<Vec<PersonaCard>>(200, "Roles, by name.")],
        ..get(
            "/v1/personas",
            "listPersonas",
            CATALOG,
            "Roles that agents can play.",
            go!(catalog::personas),
        )
    },
    Route {
        replies: &[Reply::json::<Value>(200, "Providers.")],
        ..get(
            "/v1/providers",
            "listProviders",
            CATALOG,
            "Models that can be asked, and what is missing for others.",
            go!(catalog::providers),
        )
    },
    Route {
        method: Method::Post,
        reads_only: true,
        body: carries::<DebateRequest>(),
        replies: &[Reply::json::<Value>(200, "The estimate.")],
        ..get(
            "/v1/estimates",
            "estimate",
            CATALOG,
            "What a debate would take; asks nobody.",
            go!(catalog::estimate),
        )
    },
    Route {
        query: asks::<policy::InsightsQuery>(),
        replies: &[Reply::json::<BTreeMap<String, PolicyInsights>>(
            200, "By role.",
        )],
        ..get(
            "/v1/policy/insights",
            "getInsights",
            CATALOG,
            "What judges said of reviewers lately.",
            go!(policy::insights),
        )
    },
    Route {
        method: Method::Post,
        reads_only: true,
        body: carries::<voting::Election>(),
        error_statuses: &[413, 429],
        replies: &[Reply::json::<rebut_engine::voting::Count>(
            200,
            "The count, with its working.",
        )],
        ..get(
            "/v1/voting/tally",
            "tally",
            CATALOG,
            "Counts ballots.",
            go!(voting::tally),
        )
    },
    Route {
        replies: &[Reply::json::<service::Who>(200, "The key that was shown.")],
        ..get(
            "/v1/session",
            "getSession",
            SERVICE,
            "Who asks, and what that key may do.",
            go!(service::who),
        )
    },
    Route {
        method: Method::Post,
        body: may_carry::<steering::Nothing>(),
        replies: &[Reply {
            headers: &["Set-Cookie"],
            ..Reply::empty(
                204,
                "Its cookie. It lasts 12 hours, and ends before that with the key.",
            )
        }],
        ..get(
            "/v1/session",
            "openSession",
            SERVICE,
            "Opens a session for pages of this server; the key is shown in `Authorization`.",
            go!(service::open),
        )
    },
    Route {
        method: Method::Delete,
        replies: &[Reply {
            headers: &["Set-Cookie"],
            ..Reply::empty(
                204,
                "It is over, at every node; what was opened by it ends.",
            )
        }],
        ..get(
            "/v1/session",
            "closeSession",
            SERVICE,
            "Ends the session of the cookie.",
            go!(service::close),
        )
    },
    Route {
        replies: &[Reply::json::<Value>(200, "An OpenAPI 3.1 document.")],
        ..get(
            "/v1/openapi.json",
            "getOpenapi",
            SERVICE,
            "This interface, for programs.",
            go!(service::openapi),
        )
    },
    Route {
        replies: &[Reply::text("A page.", &["text/html"])],
        ..get(
            "/v1/docs",
            "getDocs",
            SERVICE,
            "This interface, for people.",
            go!(service::docs),
        )
    },
    Route {
        min_role: None,
        replies: &[Reply::text("It runs.", &["text/plain"])],
        ..get(
            "/healthz",
            "getHealth",
            SERVICE,
            "Whether the server runs.",
            go!(service::health),
        )
    },
    Route {
        min_role: None,
        replies: &[Reply::text("It can work.", &["text/plain"])],
        ..get(
            "/readyz",
            "getReadiness",
            SERVICE,
            "Whether the server can work: its database can be read and written, and it does not \
             stop.",
            go!(service::ready),
        )
    },
    Route {
        replies: &[Reply::text("Prometheus text.", &["text/plain"])],
        ..get(
            "/metrics",
            "getMetrics",
            SERVICE,
            "What is counted since the server started, for keys of the owner who runs it.",
            go!(service::metrics),
        )
    },
];
