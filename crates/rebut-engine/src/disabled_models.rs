//! Who is not asked again in this run of a debate: its key is wrong or its money is used up, and it
//! would only say so once more. The next run asks again, since somebody may have mended it.

use crate::{
    model::{Bars, Fault},
    rate_limit::provider_of,
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Models and providers by name, with what they said.
#[derive(Debug, Default)]
pub(crate) struct Barred(Mutex<HashMap<String, Fault>>);

impl Barred {
    /// Takes in how a call to that model failed.
    pub fn note(&self, model: &str, fault: &Fault) {
        let name = match fault.bars {
            None => return,
            Some(Bars::Model) => model,
            Some(Bars::Provider) => provider_of(model),
        };
        let why = Fault::new(
            fault.kind,
            format!("not asked again in this run: {}", fault.message),
        );
        self.lock().entry(name.to_owned()).or_insert(why);
    }

    /// Why that model is not asked, if so.
    pub fn why(&self, model: &str) -> Option<Fault> {
        let barred = self.lock();
        barred
            .get(model)
            .or_else(|| barred.get(provider_of(model)))
            .cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Fault>> {
        // The map is whole between any two statements that hold the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
