extension Attack {
  private static let responds = "only servers make this mistake"
  private static let asks = "only clients make this mistake"

  /// Mistakes of other stacks that need no attack.
  static let mistakes: [Attack] = [
    Attack(
      "E1", "a rejected write returns success", "PureSwift", noServer: asks,
      also: ["transcript GATT/CL/GAW/BI-03-C"]),
    Attack(
      "E2", "a lost link leaves the caller waiting", "PureSwift", noServer: asks,
      also: ["AttoTests/EndTests.swift: everyWaitEnds", "transcript ATT/LINK/CL/ended"]),
    Attack("E3", "a value of exactly ATT_MTU - 1 octets throws", "PureSwift"),
    Attack(
      "E4", "a second central drops both", "PureSwift", noClient: responds,
      also: ["GATTTests/Session/PairTests.swift: twoClients"]),
    Attack(
      "E5", "bursts of notifications are lost", "PureSwift",
      noServer: "see E25: values that do not fit are refused, not lost",
      noClient: "requires a consumer and a socket",
      also: ["AttoTests/ValueTests.swift: slowConsumerHoldsThePeerBack"]),
    Attack(
      "E6", "a bad write command gets an error response", "PureSwift", noClient: responds,
      also: ["transcript ATT/COMMAND/SR/unanswered"]),
    Attack(
      "E7", "Read By Type returns values that are write-only", "PureSwift", noClient: responds,
      also: ["transcript GATT/SR/GAR/BI-06-C"]),
    Attack(
      "E8", "the offsets of prepared writes are ignored", "PureSwift", noClient: responds,
      also: ["transcript GATT/SR/GAW/BI-09-C"]),
    Attack(
      "E9", "Find By Type Value with many matches returns a malformed PDU", "PureSwift",
      noClient: responds,
      also: ["GATTTests/Server/ServerFindTests.swift: findByTypeValueFillsTheMTU"]),
    Attack(
      "E10", "an unknown opcode kills the link", "PureSwift", noClient: responds,
      also: ["transcript GATT/SR/UNS/BI-01-C", "transcript GATT/SR/UNS/BI-02-C"]),
    Attack(
      "E11", "invented signal strengths", "PureSwift",
      noServer: "not part of either role: scans report the value of the controller",
      noClient: "not part of either role: scans report the value of the controller",
      also: ["RadioTests/Kernel/ManagementFrameTests.swift: rssi: -50"]),
    Attack(
      "E12", "full processor load while idle", "PureSwift",
      noServer: "requires sockets and a clock", noClient: "requires sockets and a clock",
      also: [
        "EventLoopTests/WorkTests.swift: idle",
        "AttoTests/CrowdTests.swift: fiveHundredConnections",
      ]),
    Attack(
      "E13", "permissions are not enforced", "Bumble", noClient: responds,
      also: [
        "transcript GATT/SR/GAR/BI-01-C", "transcript GATT/SR/GAW/BI-03-C",
        "GATTTests/Server/PermissionTests.swift: writing",
      ]),
    Attack(
      "E14", "malformed requests get no response", "Bumble", noClient: responds,
      also: ["transcript ATT/ERROR/SR/0x04"]),
    Attack(
      "E15", "responses to pipelined requests are out of order", "Bumble",
      noServer: "covered by N10", noClient: responds, also: ["transcript GATT/SR/GAR/BI-45-C"]),
    Attack(
      "E16", "Read Multiple Variable exceeds ATT_MTU", "Bumble",
      noServer: "covered by H14, at every ATT_MTU from 23 to 64", noClient: responds,
      also: ["transcript GATT/SR/GAR/BV-09-C/cut"]),
    Attack(
      "E17", "a late response is taken for the response to the next request", "Bumble",
      noServer: asks),
    Attack(
      "E18", "an include of a 128-bit service crashes the client", "Bumble", noServer: asks,
      also: ["transcript GATT/CL/GAD/BV-03-C/128"]),
    Attack("E19", "any error closes the connection", "libblepp", noServer: asks),
    Attack("E20", "a second operation throws", "libblepp", noServer: asks),
    Attack(
      "E21", "Read Multiple Variable gets no response, and cannot be sent", "BlueZ",
      also: ["transcript GATT/SR/GAR/BV-09-C"]),
    Attack(
      "E22", "Read By Type drops readable values before an unreadable one", "BlueZ",
      noClient: responds,
      also: ["transcript GATT/SR/GAR/BI-06-C/list"]),
    Attack(
      "E23", "a repeated exchange of ATT_MTU shrinks it permanently", "BlueZ",
      noServer: "covered by H9", noClient: "covered by H9", also: ["transcript ATT/MTU/SR/repeated"]
    ),
    Attack(
      "E24", "Execute Write is not atomic", "BlueZ", noClient: responds,
      also: [
        "transcript ATT/QUEUE/SR/all-or-nothing",
        "GATTTests/Server/PreparedWriteTests.swift: allOrNothing",
      ]),
    Attack(
      "E25", "write commands are queued without limit", "BlueZ", noServer: asks,
      also: ["AttoTests/ServerTests.swift: commandsBeyondTheLimitAreDropped"]),
    Attack(
      "E26", "discovery costs one Find Information for each characteristic", "BlueZ",
      noServer: asks),
    Attack(
      "E27", "Read By Type for a configuration hangs on some peripherals", "-",
      noServer: asks),
  ]
}
