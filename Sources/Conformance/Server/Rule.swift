/// A rule that peers keep, in our words, and where the specification has it.
struct Rule: Sendable {
  let text: String
  let section: String

  init(_ text: String, _ section: String) {
    self.text = text
    self.section = section
  }

  /// The rule was broken like this.
  func broken(_ happened: String, expected: String? = nil, got: [UInt8]? = nil) -> CaseStop {
    .broken(Finding(text, section: section, happened, expected: expected, got: got))
  }
}

extension Rule {
  static let answered = Rule(
    "Every request gets exactly one response, be it an error", "Vol 3, Part F, 3.3 and 3.4.1.1")
  static let fits = Rule("No PDU is longer than ATT_MTU", "Vol 3, Part F, 3.2.8")
  static let matches = Rule(
    "A response belongs to the request before it", "Vol 3, Part F, 3.3.2")
  static let quiet = Rule(
    "A server sends nothing that was not asked for", "Vol 3, Part F, 3.3.2")
  static let errorForm = Rule(
    "An error names the request, the handle and the reason", "Vol 3, Part F, 3.4.1.1")
  static let alive = Rule(
    "A server answers on after whatever it was sent", "Vol 3, Part F, 3.4.1.1")
}
