import ATT

extension ClientCase {
  private static func make(
    _ name: String, _ title: String, _ change: (inout ClientCase) -> Void = { _ in }
  ) -> ClientCase {
    var test = ClientCase(name, title)
    change(&test)
    return test
  }

  private static let confirms = Rule(
    "A client confirms every indication, whatever it holds, and drops what it cannot use",
    "Vol 3, Part F, 3.4.7.2")
  private static let answersRequests = Rule(
    "A device answers every request, also one that it does not support", "Vol 3, Part F, 3.4.1.1")

  /// A discovery that is answered like this, over and over.
  private static func searched(
    _ name: String, _ title: String, _ opcodes: [UInt8] = [0x10, 0x08, 0x04, 0x06],
    _ answer: @escaping @Sendable ([UInt8]) -> [UInt8]
  ) -> ClientCase {
    make(name, title) {
      $0.answers = { request, _, _ in
        opcodes.contains(request[0]) ? [answer(request)] : nil
      }
      $0.verdict = { bench throws(CaseStop) in
        guard bench.requests.contains(where: { opcodes.contains($0[0]) }) else {
          throw .notExercised("the client searched for nothing")
        }
      }
    }
  }

  private static func exchanged(
    _ name: String, _ title: String, _ answer: @escaping @Sendable ([UInt8]) -> [UInt8]
  ) -> ClientCase {
    make(name, title) {
      $0.answers = { request, _, _ in request[0] == 0x02 ? [answer(request)] : nil }
      $0.verdict = { bench throws(CaseStop) in
        guard bench.requests.contains(where: { $0[0] == 0x02 }) else {
          throw .notExercised("the client did not exchange ATT_MTU")
        }
      }
    }
  }

  /// All, in the order in which they are run.
  static let all: [ClientCase] = [
    make("client/plain", "a server that does everything right"),
    exchanged("mtu/23", "the server names 23") { _ in [0x03, 0x17, 0x00] },
    exchanged("mtu/small", "the server names less than 23") { _ in [0x03, 0x05, 0x00] },
    exchanged("mtu/refused", "the server does not exchange ATT_MTU") { _ in [0x01, 0x02, 0, 0, 6] },
    make("request/exchange-mtu", "the server exchanges ATT_MTU") {
      $0.injected = [[0x02, 0x40, 0x00]]
      $0.wants = .response(answersRequests) {
        $0[0] == 0x03 && number($0[1...]) >= 23 || $0 == [0x01, 0x02, 0, 0, 6]
      }
    },
    make("request/find-information", "the server asks what the client has") {
      $0.injected = [[0x04, 0x01, 0x00, 0xFF, 0xFF]]
      $0.wants = .response(answersRequests) { $0[0] == 0x05 || $0.starts(with: [0x01, 0x04]) }
    },
    make("request/unknown", "a request that nobody knows") {
      $0.injected = [[0x3F, 0x01]]
      $0.wants = .response(answersRequests) { $0 == [0x01, 0x3F, 0, 0, 6] }
    },
    make("request/form", "a request of a wrong length") {
      $0.injected = [[0x0A, 0x01]]
      $0.wants = .response(answersRequests) { $0 == [0x01, 0x0A, 0, 0, 4] }
    },
    make("command/unknown", "a command that nobody knows, and one that is too short") {
      $0.injected = [[0x7F, 0x01], [0x52], [0xD2, 0x01, 0x00]]
    },
    make("response/unasked", "responses to nothing") { $0.injected = [[0x1E]] },
    make("indication/unknown", "an indication of a handle that is not there") {
      $0.injected = [[0x1D, 0xF0, 0x7F, 0x01]]
      $0.wants = .confirmations(1, confirms)
    },
    make("indication/handle-0", "an indication of the handle 0x0000") {
      $0.injected = [[0x1D, 0x00, 0x00]]
      $0.wants = .confirmations(1, confirms)
    },
    make("indication/two", "a second indication before the first is confirmed") {
      $0.injected = [[0x1D, 0xF0, 0x7F, 0x01], [0x1D, 0xF1, 0x7F, 0x02]]
      $0.wants = .confirmations(1, confirms)
    },
    make("notification/unknown", "notifications of handles that are not there") {
      $0.injected = [[0x1B, 0xF0, 0x7F, 0x01], [0x1B, 0x00, 0x00]]
    },
    make("notification/short", "notifications that are too short") {
      $0.injected = [[0x1B], [0x1B, 0x20], [0x23], [0x23, 0x20, 0x00, 0x01]]
    },
    make("notification/several", "several values in one, the last longer than the PDU") {
      $0.injected = [[0x23, 0xF0, 0x7F, 1, 0, 0xAA, 0xF1, 0x7F, 0xFF, 0x7F, 0xBB]]
    },
    searched("search/code-0", "a search that ends with the error 0x00") {
      [0x01, $0[0], $0[1], $0[2], 0x00]
    },
    searched("search/code-unknown", "a search that ends with an error that nobody knows") {
      [0x01, $0[0], $0[1], $0[2], 0x5C]
    },
    searched("search/standing", "services that begin anew with each response", [0x10]) { _ in
      [0x11, 0x06, 0x01, 0x00, 0x05, 0x00, 0x00, 0x18]
    },
    searched("search/handle-0", "a service at 0x0000", [0x10]) { _ in
      [0x11, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x18]
    },
    searched("search/not-whole", "a list that does not divide", [0x10, 0x08]) {
      [$0[0] + 1, 0x07, 0x01, 0x00, 0x05]
    },
    searched("search/length-0", "a list whose entries have no octets", [0x10, 0x08]) {
      [$0[0] + 1, 0x00, 0x01, 0x00]
    },
    searched("search/empty", "a list without entries") { [$0[0] + 1] },
    make("search/includes", "an included service with a UUID of 128 bits") {
      $0.verdict = { bench throws(CaseStop) in
        let rule = Rule(
          "An include without a UUID is of a service with 128 bits, whose declaration tells it",
          "Vol 3, Part G, 4.5.1")
        let asked = bench.requests.lastIndex { $0[0] == 0x08 && $0[5...] == [0x02, 0x28] }
        guard let asked else { throw .notExercised("the client looked for no includes") }
        guard asked < bench.requests.count - 1 || bench.requests.contains([0x0A, 0x30, 0x00])
        else {
          throw rule.broken("the client stopped after the include", expected: "0a 30 00")
        }
      }
    },
    make("response/another", "a response of another request") {
      $0.answers = { request, _, count in count == 1 ? [[request[0] == 0x0A ? 0x13 : 0x0B]] : nil }
      $0.verdict = { bench throws(CaseStop) in
        guard bench.requests.count > 1 else { throw .notExercised("the client sent one request") }
      }
    },
    make("prepare/echo", "a prepared write whose echo differs") {
      $0.answers = { request, right, _ in
        guard request[0] == 0x16, right[0] == 0x17, right.count > 5 else { return nil }
        return [Array(right.dropLast()) + [right[right.count - 1] ^ 0xFF]]
      }
      $0.verdict = { bench throws(CaseStop) in
        let rule = Rule(
          "A client that reads another echo than it sent cancels its prepared writes",
          "Vol 3, Part G, 4.9.5")
        guard bench.requests.contains(where: { $0[0] == 0x16 }) else {
          throw .notExercised("the client prepared no write")
        }
        guard !bench.requests.contains([0x18, 0x01]) else {
          throw rule.broken("the client executed it all the same", expected: "18 00")
        }
      }
    },
    make("timeout/silence", "a request that is never answered") {
      $0.isSlow = true
      $0.answers = { _, _, _ in [] }
    },
  ]
}
