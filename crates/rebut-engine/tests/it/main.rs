//! The engine's own tests: cases and their crashes, audits, replies, steering, replay, who hears
//! whom, planning, reviews, voting, wisdom, tools.

mod approval;
mod audits;
mod cases;
mod clocks;
mod crashing;
mod cut_replies;
mod documents;
mod evaluate;
mod example;
mod going_back;
mod hanging_up;
mod html;
mod injection;
mod kernel;
mod leaving;
mod lessons;
mod meaning;
mod peer_view;
mod planning;
mod replies;
mod review;
mod solve;
mod steered;
mod tools;
mod topology;
mod turns;
mod voting;
mod watching;
