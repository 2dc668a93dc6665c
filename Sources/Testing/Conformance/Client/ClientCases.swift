import AttoATT

extension ClientCase {
  /// A case where each search gets this response.
  private static func searched(
    _ name: String, _ title: String, _ opcodes: [UInt8] = [0x10, 0x08, 0x04, 0x06],
    _ answer: @escaping @Sendable ([UInt8]) -> [UInt8]
  ) -> ClientCase {
    ClientCase(
      name: name, title: title,
      answers: { request, _, _ in opcodes.contains(request[0]) ? [answer(request)] : nil },
      exercise: Exercise(opcodes: opcodes, omission: "did not search"))
  }

  /// A case where the exchange of ATT_MTU gets this response.
  private static func exchanged(_ name: String, _ title: String, _ answer: [UInt8]) -> ClientCase {
    ClientCase(
      name: name, title: title, answers: { request, _, _ in request[0] == 0x02 ? [answer] : nil },
      exercise: Exercise(opcodes: [0x02], omission: "did not exchange ATT_MTU"))
  }

  /// All cases in the order of a run.
  static let all: [ClientCase] = [
    ClientCase(
      name: "client/plain", title: "a correct server", pause: .milliseconds(50),
      verdict: { bench in
        try Rule("A client executes or cancels its prepared writes", "Vol 3, Part G, 4.9.4").check(
          bench.prepared == 0, "\(bench.prepared) prepared parts were left in the queue")
      }),
    exchanged("mtu/23", "the server offers 23", [0x03, 0x17, 0x00]),
    exchanged("mtu/small", "the server offers less than 23", [0x03, 0x05, 0x00]),
    exchanged("mtu/refused", "the server does not support the exchange", [0x01, 0x02, 0, 0, 6]),
    ClientCase(
      name: "request/exchange-mtu", title: "the server exchanges ATT_MTU",
      injected: [[0x02, 0x40, 0x00]],
      reaction: .response {
        $0[0] == 0x03 && number($0[1...]) >= 23 || $0 == [0x01, 0x02, 0, 0, 6]
      }),
    ClientCase(
      name: "request/find-information", title: "the server sends Find Information",
      injected: [[0x04, 0x01, 0x00, 0xFF, 0xFF]],
      // Every device supports these two requests (Vol 3, Part F, 3.4.9).
      reaction: .response {
        $0[0] == 0x05 || $0.starts(with: [0x01, 0x04, 0x01, 0x00]) && $0.last != 0x06
      }),
    ClientCase(
      name: "request/read", title: "the server sends Read", injected: [[0x0A, 0x03, 0x00]],
      reaction: .response {
        $0[0] == 0x0B || $0.starts(with: [0x01, 0x0A, 0x03, 0x00]) && $0.last != 0x06
      }),
    ClientCase(
      name: "request/unknown", title: "an unknown request", injected: [[0x3F, 0x01]],
      reaction: .response { $0 == [0x01, 0x3F, 0, 0, 6] }),
    ClientCase(
      name: "request/form", title: "a request of a wrong length", injected: [[0x0A, 0x01]],
      reaction: .response { $0 == [0x01, 0x0A, 0, 0, 4] }),
    ClientCase(
      name: "command/unknown", title: "an unknown command, and one that is too short",
      injected: [[0x7F, 0x01], [0x52], [0xD2, 0x01, 0x00]]),
    ClientCase(name: "response/unasked", title: "an unsolicited confirmation", injected: [[0x1E]]),
    ClientCase(
      name: "indication/unknown", title: "an indication of an unknown handle",
      injected: [[0x1D, 0xF0, 0x7F, 0x01]], reaction: .confirmation),
    ClientCase(
      name: "indication/handle-0", title: "an indication of the handle 0x0000",
      injected: [[0x1D, 0x00, 0x00]], reaction: .confirmation),
    ClientCase(
      name: "indication/two", title: "a second indication before the first is confirmed",
      injected: [[0x1D, 0xF0, 0x7F, 0x01], [0x1D, 0xF1, 0x7F, 0x02]], reaction: .confirmation),
    ClientCase(
      name: "notification/unknown", title: "notifications of unknown handles",
      injected: [[0x1B, 0xF0, 0x7F, 0x01], [0x1B, 0x00, 0x00]]),
    ClientCase(
      name: "notification/short", title: "notifications that are too short",
      injected: [[0x1B], [0x1B, 0x20], [0x23], [0x23, 0x20, 0x00, 0x01]]),
    ClientCase(
      name: "notification/several", title: "several values in one, the last longer than the PDU",
      injected: [[0x23, 0xF0, 0x7F, 1, 0, 0xAA, 0xF1, 0x7F, 0xFF, 0x7F, 0xBB]]),
    searched("search/code-0", "a search that ends with the error 0x00") {
      [0x01, $0[0], $0[1], $0[2], 0x00]
    },
    searched("search/code-unknown", "a search that ends with an unknown error") {
      [0x01, $0[0], $0[1], $0[2], 0x5C]
    },
    searched("search/standing", "each response repeats the first service", [0x10]) { _ in
      [0x11, 0x06, 0x01, 0x00, 0x05, 0x00, 0x00, 0x18]
    },
    searched("search/repeated-type", "each response repeats the first characteristic", [0x08]) {
      _ in
      [0x09, 0x07, 0x12, 0x00, 0x10, 0x13, 0x00, 0x37, 0x2A]
    },
    searched("search/repeated-descriptor", "each response repeats a descriptor", [0x04]) {
      [0x05, 0x01, $0[1], $0[2], 0x01, 0x29, $0[1], $0[2], 0x01, 0x29]
    },
    searched("search/repeated-uuid", "each response repeats a service found by its UUID", [0x06]) {
      _ in
      [0x07, 0x01, 0x00, 0x05, 0x00]
    },
    searched("search/value-short", "a service found by its UUID, without its end", [0x06]) { _ in
      [0x07, 0x01, 0x00]
    },
    searched("search/handle-0", "a service at 0x0000", [0x10]) { _ in
      [0x11, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x18]
    },
    searched("search/not-whole", "a list with an incomplete entry", [0x10, 0x08]) {
      [$0[0] + 1, 0x07, 0x01, 0x00, 0x05]
    },
    searched("search/length-0", "a list with entries of length 0", [0x10, 0x08]) {
      [$0[0] + 1, 0x00, 0x01, 0x00]
    },
    searched("search/empty", "a list without entries") { [$0[0] + 1] },
    ClientCase(
      name: "search/includes", title: "an included service with a UUID of 128 bits",
      verdict: { bench in
        let asked = bench.requests.lastIndex { $0[0] == 0x08 && $0[5...] == [0x02, 0x28] }
        guard let asked else {
          throw CaseStop.notExercised("the client did not search for includes")
        }
        try Rule(
          "The UUID of an included service with 128 bits is read from its declaration",
          "Vol 3, Part G, 4.5.1"
        ).check(
          asked < bench.requests.count - 1 || bench.requests.contains([0x0A, 0x30, 0x00]),
          "the client stopped after the include", expected: "0a 30 00")
      }),
    ClientCase(
      name: "response/another", title: "the response of another request",
      answers: { request, _, count in count == 1 ? [[request[0] == 0x0A ? 0x13 : 0x0B]] : nil },
      verdict: { bench in
        guard bench.requests.count > 1 else {
          throw CaseStop.notExercised("the client sent only one request")
        }
      }),
    ClientCase(
      name: "prepare/echo", title: "a prepared write whose echo differs",
      answers: { request, right, _ in
        guard request[0] == 0x16, right[0] == 0x17, right.count > 5 else { return nil }
        return [Array(right.dropLast()) + [right[right.count - 1] ^ 0xFF]]
      },
      exercise: Exercise(opcodes: [0x16], omission: "prepared no write"),
      verdict: { bench in
        try Rule("A client cancels its prepared writes if the echo differs", "Vol 3, Part G, 4.9.5")
          .check(
            !bench.requests.contains([0x18, 0x01]), "the client executed it nevertheless",
            expected: "18 00")
      }),
    ClientCase(
      name: "prepare/refused", title: "a prepared part that is refused",
      answers: { request, _, _ in
        guard request[0] == 0x16, number(request[3...]) > 0 else { return nil }
        return [[0x01, 0x16, request[1], request[2], 0x09]]
      },
      verdict: { bench in
        let refused = bench.requests.firstIndex { $0[0] == 0x16 && number($0[3...]) > 0 }
        guard let refused else { throw CaseStop.notExercised("the client prepared no second part") }
        try Rule(
          "A client does not execute a write of which a part was refused",
          "Vol 3, Part G, 4.9.4 and 4.9.5"
        ).check(
          !bench.requests[refused...].contains([0x18, 0x01]), "the client executed it nevertheless",
          expected: "18 00")
      }),
    ClientCase(
      name: "timeout/late", title: "a response that takes two seconds", delay: .seconds(2),
      verdict: { bench in
        guard bench.requests.count > 1 else {
          throw CaseStop.notExercised("the client sent only one request")
        }
      }),
    ClientCase(
      name: "timeout/silence", title: "a request that is never answered", isSlow: true,
      answers: { _, _, _ in [] },
      verdict: { bench in
        try Rule(
          "After a request without a response, a client sends nothing more on the link",
          "Vol 3, Part F, 3.3.3"
        ).check(
          bench.requests.count == 1, "received \(bench.requests.count) requests",
          got: bench.requests.last)
      }),
  ]
}
