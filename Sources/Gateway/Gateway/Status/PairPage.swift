import AttoText

extension GatewayStatus {
  /// A page with the questions of devices that pair and a form for each answer. Only for clients that have the token.
  ///
  /// - Parameter result: the result of the answer in the request.
  static func pairPage(
    _ name: String, _ questions: [PairingQuestion], _ result: String?
  ) -> String {
    let forms = questions.sorted { $0.end < $1.end }.map { question in
      """
      <form method="post" action="/pair"><p><b>\(question.device.escapedForMarkup)</b> pairs.</p>
      <input type="hidden" name="question" value="\(question.id)">\(question.inputs)</form>
      """
    }
    return page(
      name, "Pairing with ", refreshes: questions.isEmpty && result == nil,
      """
      \(result.map { "<p><b>\($0.escapedForMarkup)</b></p>" } ?? "")
      \(forms.isEmpty ? "<p>No device waits for an answer.</p>" : forms.joined(separator: "\n"))
      <p><a href="/pair">Reload</a> · <a href="/">Status</a></p>
      """)
  }
}

extension PairingQuestion {
  fileprivate var inputs: String {
    switch kind {
    case .enter:
      """
      <label>Digits that the device shows: <input name="answer" inputmode="numeric" pattern="[0-9]{1,6}" required
      autocomplete="off" size="8" autofocus></label> <button>Pair</button>
      """
    case .compare:
      """
      <p>Does the device show <b>\(digits ?? "")</b>?</p>
      <button name="answer" value="yes">Yes, pair</button> <button name="answer" value="no">No</button>
      """
    case .show: ""
    }
  }
}
