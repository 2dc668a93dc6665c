extension Attack {
  private static let responds = "it is a mistake of servers"
  private static let asks = "it is a mistake of clients"

  /// What other stacks get wrong unprovoked, in their order.
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
      noServer: "see E25: what has no room is refused, not lost",
      noClient: "wants a consumer and a socket",
      also: ["AttoTests/ValueTests.swift: slowConsumerHoldsThePeerBack"]),
    Attack(
      "E6", "a bad write command gets an error response", "PureSwift", noClient: responds,
      also: ["transcript ATT/COMMAND/SR/unanswered"]),
    Attack(
      "E7", "Read By Type leaks values that may only be written", "PureSwift", noClient: responds,
      also: ["transcript GATT/SR/GAR/BI-06-C"]),
    Attack(
      "E8", "the offsets of prepared writes are ignored", "PureSwift", noClient: responds,
      also: ["transcript GATT/SR/GAW/BI-09-C"]),
    Attack(
      "E9", "Find By Type Value with many matches makes a malformed PDU", "PureSwift",
      noClient: responds,
      also: ["GATTTests/Server/ServerFindTests.swift: findByTypeValueFillsTheMTU"]),
    Attack(
      "E10", "an unknown opcode kills the link", "PureSwift", noClient: responds,
      also: ["transcript GATT/SR/UNS/BI-01-C", "transcript GATT/SR/UNS/BI-02-C"]),
    Attack(
      "E11", "signal strengths are invented", "PureSwift",
      noServer: "no role's: what scans reports what the controller said",
      noClient: "no role's: what scans reports what the controller said",
      also: ["RadioTests/Kernel/ManagementFrameTests.swift: rssi: -50"]),
    Attack(
      "E12", "a core is burnt while idle", "PureSwift",
      noServer: "wants sockets and a clock", noClient: "wants sockets and a clock",
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
      "E14", "malformed requests get no answer", "Bumble", noClient: responds,
      also: ["transcript ATT/ERROR/SR/0x04"]),
    Attack(
      "E15", "answers to pipelined requests come out of order", "Bumble",
      noServer: "N10 is this", noClient: responds, also: ["transcript GATT/SR/GAR/BI-45-C"]),
    Attack(
      "E16", "Read Multiple Variable exceeds ATT_MTU", "Bumble",
      noServer: "H14 is this, at every ATT_MTU from 23 to 64", noClient: responds,
      also: ["transcript GATT/SR/GAR/BV-09-C/cut"]),
    Attack("E17", "a late response answers the next request", "Bumble", noServer: asks),
    Attack(
      "E18", "an include of a 128-bit service crashes the client", "Bumble", noServer: asks,
      also: ["transcript GATT/CL/GAD/BV-03-C/128"]),
    Attack("E19", "any error closes the connection", "libblepp", noServer: asks),
    Attack("E20", "a second operation throws", "libblepp", noServer: asks),
    Attack(
      "E21", "Read Multiple Variable gets no answer, and cannot be sent", "BlueZ",
      also: ["transcript GATT/SR/GAR/BV-09-C"]),
    Attack(
      "E22", "Read By Type drops what can be read before what cannot", "BlueZ", noClient: responds,
      also: ["transcript GATT/SR/GAR/BI-06-C/list"]),
    Attack(
      "E23", "a repeated exchange of ATT_MTU shrinks it for good", "BlueZ",
      noServer: "H9 is this", noClient: "H9 is this", also: ["transcript ATT/MTU/SR/repeated"]),
    Attack(
      "E24", "Execute Write is not atomic", "BlueZ", noClient: responds,
      also: [
        "transcript ATT/QUEUE/SR/all-or-nothing",
        "GATTTests/Server/PreparedWriteTests.swift: allOrNothing",
      ]),
    Attack(
      "E25", "write commands queue without bound", "BlueZ", noServer: asks,
      also: ["AttoTests/ServerTests.swift: commandsBeyondTheLimitAreDropped"]),
    Attack(
      "E26", "discovery costs one Find Information for each characteristic", "BlueZ",
      noServer: asks),
    Attack(
      "E27", "looking for a configuration with Read By Type hangs on some peripherals", "-",
      noServer: asks),
  ]
}
