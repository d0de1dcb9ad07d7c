//! Realistic cases, as a stranger would bring them.

use super::stage::Case;

pub const OFFLINE: Case<'static> = Case {
    question: "How much offline support should the field app have?",
    options: "A. Full offline editing — a local database with two-way sync\nB. Read-only offline \
        cache — the last loaded records can be viewed\nC. Online only",
    context: "\
40 % of our revenue comes from field technicians, and they ask for offline editing in every survey.

Full offline editing takes 14 weeks. The read-only cache takes 3 weeks.
Sync bugs surface only after weeks, and a wrong merge can corrupt customer records.
The cache is simple and the team already knows the library.
Online only frustrates technicians in basements, who lose the form they were filling in.
Our deadline is tight: the spring release is fixed.",
    notes: "",
    own: "",
    others: "",
};

pub const SESSIONS: Case<'static> = Case {
    question: "Redis or Memcached for web sessions?",
    options: "A. Redis\nB. Memcached",
    context: "\
## Redis
Pros:
- Sessions survive a restart thanks to persistence
- Replication gives us failover, so no outage when a node dies
- The team already runs it for queues

Cons:
- Uses more memory per key

## Memcached
Pros:
- Very simple to operate
Cons:
- A restart loses every session, and users are logged out
- No replication, a dead node means data loss
- One more system to learn and maintain",
    notes: "",
    own: "",
    others: "",
};

pub const MONOLITH: Case<'static> = Case {
    question: "Should we split the monolith into microservices?",
    options: "A. Keep the monolith\nB. Microservices\nC. Modular monolith — clear modules, one \
        deployment",
    context: "\
We are six developers. Releases of the monolith are slow because every change is tested together, \
and this delays features.
Microservices let teams deploy independently and scale the hot path; two large customers ask for faster delivery.
Microservices need tracing, service discovery and on-call training, which is a heavy operational burden.
A migration to microservices takes 9 months. Modules can be carved out in 2 months.
Keeping the monolith costs nothing now, but its build is fragile and bugs in billing break checkout.
Distributed transactions are a known source of silent errors with microservices.",
    notes: "",
    own: "",
    others: "",
};

pub const BILLING: Case<'static> = Case {
    question: "Build or buy the billing system?",
    options: "A. Build our own billing\nB. Buy a hosted billing product",
    context: "\
+ (A) Custom pricing models differentiate us from competitors and enable usage-based plans
- (A) Building takes 7 months and needs two specialists
- (A) Mistakes in invoices are a compliance risk
+ (B) Live in 3 weeks
+ (B) The vendor is audited and handles tax safely
- (B) Costs 0.7 % of revenue as a fee
- (B) Limited to the vendor's plans, and customers want flexible pricing",
    notes: "",
    own: "",
    others: "",
};

pub const DATABASE: Case<'static> = Case {
    question: "Which database for the event log?",
    options: "A. PostgreSQL\nB. Cassandra\nC. SQLite",
    context: "\
We compared three candidates:

| Criterion | Postgres | Cassandra | SQLite |
|---|---|---|---|
| Write throughput (per second) | 20000 | 150000 | 4000 |
| Setup effort | 3 days | 4 weeks | 1 day |
| Risk of data loss | low | medium | high |
| Operational burden | medium | high | low |
| Team expertise | yes | no | yes |

The log grows by 10,000 events per second at peak.",
    notes: "",
    own: "",
    others: "",
};

pub const EMPTY: Case<'static> = Case {
    question: "Which name for the new product?",
    options: "A. Lighthouse\nB. Harbour\nC. Beacon",
    context: "(none)",
    notes: "",
    own: "",
    others: "",
};

pub const HOSTING: Case<'static> = Case {
    question: "Where do we run the patient portal?",
    options: "A. Certified data centre\nB. Public cloud\nC. Current server",
    context: "\
The certified data centre is audited, encrypted and reliable; backups there are tested and \
recovery is proven.
The certified data centre is slow to extend, and its contract is expensive.

The public cloud is fast and scalable. Patients ask for video calls, and the public cloud enables them with better quality.
Growth in the public cloud is worth 300k in sales.
The public cloud is complex and needs costly training. A breach of the public cloud would be a risk.

The current server is cheap, simple and familiar; it is managed already and saves us all training.
The current server is outdated and limited. Its disk may fail, and the outage risk is known.",
    notes: "",
    own: "",
    others: "",
};

pub const TYPES: Case<'static> = Case {
    question: "Should we adopt TypeScript for the frontend?",
    options: "A. Migrate everything to TypeScript now\nB. TypeScript for new code only — old files \
        stay JavaScript\nC. Stay on JavaScript",
    context: "\
# Background

Our frontend has 85,000 lines of JavaScript and 4 engineers. In the last quarter 23% of production incidents were type errors.
Only one engineer has used TypeScript before.

# Constraints
- The redesign must ship by June; there is no slack.
- Onboarding new people takes too long because nobody knows what functions expect.

# Thoughts
A full migration would take about 3 months, during which features stop. Mixed codebases confuse people, but tooling handles them well.
Staying on JavaScript costs us nothing today, though every incident costs roughly $4,000.
New code in TypeScript can start tomorrow.",
    notes: "",
    own: "",
    others: "",
};

pub const ALL: [(&str, Case<'static>); 8] = [
    ("offline", OFFLINE),
    ("sessions", SESSIONS),
    ("monolith", MONOLITH),
    ("billing", BILLING),
    ("database", DATABASE),
    ("empty", EMPTY),
    ("hosting", HOSTING),
    ("types", TYPES),
];
