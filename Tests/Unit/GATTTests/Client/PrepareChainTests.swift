import TestSupport
import AttoATT
import AttoGATT
import Testing

@Suite(.sideBySide) struct WriteLongValueTests {
  let part = "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11"
  let value = [UInt8](0...19)

  @Test func writes() throws {
    try play(
      WriteLongValue(0x0012, value: value),
      """
      > 16 1200 0000 \(part)
      < 17 1200 0000 \(part)
      > 16 1200 1200 12 13
      < 17 1200 1200 12 13
      > 18 01
      < 19
      """)
  }

  @Test func writesAtAnOffset() throws {
    try play(
      WriteLongValue(0x0012, offset: 3, value: value), mtu: 64,
      """
      > 16 1200 0300 \(part) 12 13
      < 17 1200 0300 \(part) 12 13
      > 18 01
      < 19
      """)
  }

  @Test func emptyValue() throws {
    try play(
      WriteLongValue(0x0012, value: []),
      """
      > 16 1200 0000
      < 17 1200 0000
      > 18 01
      < 19
      """)
  }

  /// Parts are as long as the ATT_MTU of the moment allows.
  @Test func mtuThatGrows() throws {
    let value = [UInt8](repeating: 1, count: 60)
    let first = hexText([UInt8](value.prefix(18)))
    let rest = hexText([UInt8](value.dropFirst(18)))
    try play(
      WriteLongValue(0x0012, value: value),
      """
      > 16 1200 0000 \(first)
      < 17 1200 0000 \(first)
      mtu 64
      > 16 1200 1200 \(rest)
      < 17 1200 1200 \(rest)
      > 18 01
      < 19
      """)
  }

  /// H13: a wrong echo, also a shorter or longer one, is cancelled and reported.
  @Test(arguments: [
    "1300 1200 12 13", "1200 1300 12 13", "1200 1200 12 14", "1200 1200 12", "1200 1200",
    "1200 1200 12 13 14", "1200 0000 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11",
  ])
  func echoThatDiffers(echo: String) {
    #expect(throws: ProcedureError.violation(.echoMismatch(0x0012, offset: 0x12))) {
      try play(
        WriteLongValue(0x0012, value: value),
        """
        > 16 1200 0000 \(part)
        < 17 1200 0000 \(part)
        > 16 1200 1200 12 13
        < 17 \(echo)
        > 18 00
        < 19
        """)
    }
  }

  @Test func everyErrorOfAPrepareIsCancelledAndTold() {
    for code in UInt8.min...UInt8.max {
      #expect(throws: refusal(.prepareWriteRequest, 0x0012, ErrorCode(code))) {
        try play(
          WriteLongValue(0x0012, value: value),
          """
          > 16 1200 0000 \(part)
          < 17 1200 0000 \(part)
          > 16 1200 1200 12 13
          < 01 16 1200 \(hexText([code]))
          > 18 00
          < 19
          """)
      }
    }
  }

  /// The response to the cancellation does not replace the original error.
  @Test(arguments: ["19", "01 18 0000 0e", "01 18 0000 00", "13"])
  func errorThatSurvivesCancelling(response: String) {
    #expect(throws: refusal(.prepareWriteRequest, 0x0012, .prepareQueueFull)) {
      try play(
        WriteLongValue(0x0012, value: value),
        """
        > 16 1200 0000 \(part)
        < 01 16 1200 09
        > 18 00
        < \(response)
        """)
    }
  }

  @Test(arguments: ["17 1200", "13", ""])
  func responseThatIsNone(response: String) {
    #expect(throws: ProcedureError.violation(.incompleteResponse(.prepareWriteRequest))) {
      try play(
        WriteLongValue(0x0012, value: value),
        """
        > 16 1200 0000 \(part)
        < \(response)
        > 18 00
        < 19
        """)
    }
  }

  /// An Execute Write Request that fails has dropped the queue.
  @Test func everyErrorOfTheExecuteIsAFailure() {
    for code in UInt8.min...UInt8.max {
      #expect(throws: refusal(.executeWriteRequest, 0x0012, ErrorCode(code))) {
        try play(
          WriteLongValue(0x0012, value: [1]),
          """
          > 16 1200 0000 01
          < 17 1200 0000 01
          > 18 01
          < 01 18 1200 \(hexText([code]))
          """)
      }
    }
    #expect(throws: ProcedureError.violation(.incompleteResponse(.executeWriteRequest))) {
      try play(
        WriteLongValue(0x0012, value: [1]),
        """
        > 16 1200 0000 01
        < 17 1200 0000 01
        > 18 01
        < 13
        """)
    }
  }

  /// H1, from the client's side.
  @Test func moreThanAValueHas() {
    #expect(throws: ProcedureError.misuse(.valueTooLong(513, limit: 512))) {
      try play(WriteLongValue(3, value: [UInt8](repeating: 0, count: 513)), "> 16")
    }
    #expect(throws: ProcedureError.misuse(.valueTooLong(513, limit: 512))) {
      try play(WriteLongValue(3, offset: 512, value: [0]), "> 16")
    }
  }

  @Test(arguments: [23, 64, 185, 257, 517])
  func everyLength(mtu: Int) throws {
    for length in stride(from: 0, through: 512, by: 1) {
      let value = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
      var server = ModelServer([.init(handle: 3, type: 0x2A00, value: [])])
      try server.run(WriteLongValue(3, value: value), mtu: mtu)
      #expect(server.attributes[0].value == value)
      #expect(server.isQueueEmpty)
      let parts = max(1, (length + mtu - 6) / (mtu - 5))
      #expect(server.requests.count == parts + 1)
    }
  }

  @Test func cancelling() throws {
    // Before anything is on the server.
    var unsent = WriteLongValue(3, value: value)
    let isWaiting = unsent.cancel()
    #expect(!isWaiting)
    // With a part in flight, whatever its response.
    for response in ["17 1200 0000 \(part)", "01 16 1200 09", "17 0000 0000"] {
      #expect(throws: ProcedureError.cancelled) {
        try play(
          WriteLongValue(0x0012, value: value),
          """
          > 16 1200 0000 \(part)
          cancel
          < \(response)
          > 18 00
          < 19
          """)
      }
    }
    // Between two parts, and while it is being cancelled.
    #expect(throws: ProcedureError.cancelled) {
      try play(
        WriteLongValue(0x0012, value: value),
        """
        > 16 1200 0000 \(part)
        < 17 1200 0000 \(part)
        cancel
        > 18 00
        cancel
        < 19
        """)
    }
    // Before the values are executed, but not once they are.
    var late = WriteLongValue(0x0012, value: [1])
    _ = try late.request(mtu: 23)
    _ = try late.receive(octets: octets("17 1200 0000 01"), mtu: 23)
    var executed = late
    let isCancelled = late.cancel()
    #expect(isCancelled)
    #expect(try late.request(mtu: 23) == octets("18 00"))
    #expect(try executed.request(mtu: 23) == octets("18 01"))
    let isStillCancelled = executed.cancel()
    #expect(!isStillCancelled)
  }
}

@Suite(.sideBySide) struct ReliableWritesTests {
  @Test func writes() throws {
    let part = hexText([UInt8](repeating: 7, count: 18))
    try play(
      ReliableWrites([
        LongWrite(0x0003, value: [1, 2]),
        LongWrite(0x0005, offset: 4, value: [UInt8](repeating: 7, count: 20)),
        LongWrite(0x0003, offset: 1, value: []),
      ]),
      """
      > 16 0300 0000 0102
      < 17 0300 0000 0102
      > 16 0500 0400 \(part)
      < 17 0500 0400 \(part)
      > 16 0500 1600 07 07
      < 17 0500 1600 07 07
      > 16 0300 0100
      < 17 0300 0100
      > 18 01
      < 19
      """)
  }

  @Test func nothingToWrite() throws {
    try play(ReliableWrites([]), "> 18 01\n< 19")
  }

  /// H13: nothing is written unless the echo is exact.
  @Test(arguments: ["0300 0000 0102", "0500 0000 0101", "0500 0100 0102", "0500 0000 010200"])
  func echoThatDiffers(echo: String) {
    #expect(throws: ProcedureError.violation(.echoMismatch(0x0005, offset: 0))) {
      try play(
        ReliableWrites([
          LongWrite(0x0003, value: [1, 2]), LongWrite(0x0005, value: [1, 2]),
        ]),
        """
        > 16 0300 0000 0102
        < 17 0300 0000 0102
        > 16 0500 0000 0102
        < 17 \(echo)
        > 18 00
        < 19
        """)
    }
  }

  @Test func refusals() {
    #expect(throws: refusal(.prepareWriteRequest, 0x0005, .writeNotPermitted)) {
      try play(
        ReliableWrites([LongWrite(0x0003, value: [1]), LongWrite(0x0005, value: [2])]),
        """
        > 16 0300 0000 01
        < 17 0300 0000 01
        > 16 0500 0000 02
        < 01 16 0500 03
        > 18 00
        < 19
        """)
    }
    #expect(throws: refusal(.executeWriteRequest, 0x0005, .invalidAttributeValueLength)) {
      try play(
        ReliableWrites([LongWrite(0x0005, value: [2])]),
        """
        > 16 0500 0000 02
        < 17 0500 0000 02
        > 18 01
        < 01 18 0500 0d
        """)
    }
  }

  /// An invalid value later in the list is found before the first is sent.
  @Test func misuse() {
    #expect(throws: ProcedureError.misuse(.valueTooLong(513, limit: 512))) {
      try play(
        ReliableWrites([
          LongWrite(3, value: [1]),
          LongWrite(3, offset: 13, value: [UInt8](repeating: 0, count: 500)),
        ]), "> 16")
    }
  }

  @Test func cancelling() {
    #expect(throws: ProcedureError.cancelled) {
      try play(
        ReliableWrites([LongWrite(3, value: [1]), LongWrite(5, value: [1])]),
        """
        > 16 0300 0000 01
        < 17 0300 0000 01
        cancel
        > 18 00
        < 19
        """)
    }
  }
}
