//! The table of codes: every row can be provoked, and contains advice.

use std::collections::HashSet;

use tachyfits_records::Code;

use crate::{files, walks};

#[test]
fn every_code_can_be_provoked() {
    let problems: Vec<_> = walks::problems().into_iter().chain(files::problems()).collect();
    for problem in &problems {
        let message = format!("{problem:#}");
        assert_eq!(problem.to_string(), message.lines().next().unwrap());
        assert!(message.contains("expected ") && message.contains(", found "), "{message}");
        assert!(message.ends_with(&format!("\nhint: {}", problem.code.hint())), "{message}");
    }
    let found: HashSet<Code> = problems.iter().map(|problem| problem.code).collect();
    let missing: Vec<&Code> = Code::ALL.iter().filter(|code| !found.contains(code)).collect();
    assert!(missing.is_empty(), "nothing raises {missing:?}");
}

#[test]
fn every_code_is_explained() {
    let mut names = HashSet::new();
    for code in Code::ALL {
        assert!(names.insert(code.as_str()), "{} is listed twice", code.as_str());
        assert!(code.meaning().ends_with('.'));
        assert!(!code.hint().is_empty() && !code.hint().contains("  "), "{}", code.as_str());
    }
}
