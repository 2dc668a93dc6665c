/// A row of the table: something that broke another stack, and the tests for it.
///
/// The tests of this folder are found by their names (`H7 server: ...`). `also` names other tests.
struct Attack {
  let name: String
  let title: String
  /// The stack that it broke.
  let broke: String
  /// Why it cannot be tested in this role; nil if it can.
  var noServer: String?
  var noClient: String?
  /// Tests elsewhere, `Target/.../File.swift: function`, and transcripts, `transcript NAME`.
  var also: [String] = []

  init(
    _ name: String, _ title: String, _ broke: String, noServer: String? = nil,
    noClient: String? = nil, also: [String] = []
  ) {
    self.name = name
    self.title = title
    self.broke = broke
    self.noServer = noServer
    self.noClient = noClient
    self.also = also
  }

  private static let everyOpcode = [
    "GATTTests/Hostile/HostileClientTests.swift: everyLengthOfEveryOpcode",
    "GATTTests/Hostile/HostileClientTests.swift: everyLengthInFlight",
    "FuzzingTests/ServerUnderAttackTests.swift: theCatalogue",
  ]

  /// Published attacks. There is no H25.
  static let published: [Attack] = [
    Attack("H1", "a chain of prepared writes past 512 octets", "BlueZ, CVE-2022-0204"),
    Attack("H2", "an offset beyond a value of one octet", "BlueZ, CVE-2021-3588"),
    Attack(
      "H3", "a permission that requires security, bypassed", "BlueZ, CVE-2021-0129",
      also: ["GATTTests/Server/PermissionTests.swift: reading"]),
    Attack(
      "H4", "the link ends with requests pending, and callbacks start new ones",
      "BlueZ, CVE-2020-27153",
      also: [
        "AttoTests/EndTests.swift: endsFromWithinHandlers",
        "AttoTests/EndTests.swift: cancellationInAnyOrder",
      ]),
    Attack(
      "H5", "a tuple of a multiple notification that reaches past the PDU", "BlueZ",
      also: ["ATTTests/PDU/PDULengthTests.swift: h5MultipleNotificationTupleBeyondThePDU"]),
    Attack(
      "H6", "a multiple notification that fills its buffer", "BlueZ",
      also: ["ATTTests/PDU/PDULengthTests.swift: h6MultipleNotificationThatFillsThePDU"]),
    Attack("H7", "Read Multiple: slow reads, and permissions past ATT_MTU", "BlueZ"),
    Attack("H8", "a response built with another bearer's ATT_MTU", "BlueZ"),
    Attack(
      "H9", "a second exchange of ATT_MTU with a smaller value", "BlueZ",
      also: ["transcript ATT/MTU/SR/repeated"]),
    Attack("H10", "Exchange MTU twice, back to back", "SweynTooth, CVE-2019-19192"),
    Attack(
      "H11", "handle 0x0000 or a reversed range from the peer", "BlueZ",
      also: ["transcript ATT/DISCOVERY/CL/handle-0", "transcript ATT/DISCOVERY/SR/ranges"]),
    Attack(
      "H12", "more than 512 octets of a value at an ATT_MTU of 517", "Android, CVE-2023-21250"),
    Attack("H13", "the echo of a prepared write, wrong or too long", "Android, CVE-2023-20951"),
    Attack("H14", "underflow of a length in a Read Multiple response", "Android, CVE-2023-35673"),
    Attack(
      "H15", "overflow while building a Read or Read By Type response", "Android, CVE-2024-0039"),
    Attack(
      "H16", "a notification with a length out of bounds", "Android",
      also: [
        "ATTTests/Bearer/ServerSideTests.swift: h16NotificationsAndIndicationsShorterThanThreeOctets"
      ]),
    Attack("H17", "use of a response after its callback freed it", "Android"),
    Attack(
      "H18", "a loop until an unsigned remainder is negative", "Android",
      also: ["ATTTests/PDU/PDULengthTests.swift: h18OneOctetAfterTheLastTuple"]),
    Attack("H19", "an opcode used as an index into a table", "Android", also: everyOpcode),
    Attack(
      "H20", "an invalid PDU, and the link ends immediately", "Zephyr, CVE-2021-3455",
      also: ["AttoTests/ServerTests.swift: clientDisconnectsWhileItsHandlerRuns"]),
    Attack(
      "H21", "an SDU of one octet; too many credits",
      "Zephyr, CVE-2021-3454, 3434 and 3435"),
    Attack("H22", "a Prepare Write Response in segments", "-"),
    Attack(
      "H23", "permission to notify derived from the declaration", "Zephyr, CVE-2026-2411",
      noClient: "only servers check this permission"),
    Attack(
      "H24", "a permission that requires Secure Connections, skipped", "Zephyr, CVE-2024-1638",
      also: ["AttoTests/SecurityOnDemandTests.swift: SecurityOnDemandTests"]),
    Attack(
      "H26", "Client Supported Features written too long", "NimBLE",
      noClient: "a client stores no features of a peer"),
    Attack(
      "H27", "an Error Response with the code 0x00 in discovery", "CircuitPython",
      also: [
        "transcript ATT/DISCOVERY/CL/code-0",
        "GATTTests/Client/DiscoverDatabaseTests.swift: everyOtherErrorIsAFailure",
      ]),
    Attack(
      "H28", "a notification before the response to its subscription", "bleak",
      also: ["AttoTests/ValueTests.swift: valuesBeforeTheResponseAreNotLost"]),
    Attack(
      "H29", "two centrals that reconnect rapidly", "Silicon Labs, CVE-2024-6657",
      also: ["AttoTests/ServerTests.swift: twoCentralsReconnectRapidly"]),
  ]

  /// Cases related to the published attacks.
  static let neighbours: [Attack] = [
    Attack("N1", "the empty PDU", "-", also: ["transcript ATT/PDU/SR/unasked"]),
    Attack(
      "N2", "a value shorter than its handle", "-",
      noServer: "covered by H16, because only clients receive this form",
      noClient: "covered by H16",
      also: [
        "ATTTests/Bearer/ServerSideTests.swift: h16NotificationsAndIndicationsShorterThanThreeOctets"
      ]),
    Attack("N3", "a PDU longer than ATT_MTU", "-", also: ["transcript ATT/ERROR/SR/0x04/long"]),
    Attack(
      "N4", "two long writes at once", "-",
      also: [
        "GATTTests/Server/PreparedWriteTests.swift: twoLongWritesAtOnce",
        "GATTTests/Session/PrepareQueueTurnsTests.swift: PrepareQueueTurnsTests",
        "transcript ATT/QUEUE/SR/of-a-client",
      ]),
    Attack(
      "N5", "every length of every opcode", "-",
      noServer: "tested elsewhere, with a server that has every kind of attribute",
      noClient: "tested elsewhere, with a request and an indication in flight", also: everyOpcode),
    Attack(
      "N6", "Read By Type with empty entries, or entries that do not fill the list", "-",
      noServer: "servers do not receive such lists",
      also: ["transcript ATT/DISCOVERY/CL/not-dividing"]
    ),
    Attack(
      "N7", "discovery with handles that do not increase", "-",
      noServer: "servers do not discover", also: ["transcript ATT/DISCOVERY/CL/not-rising"]),
    Attack(
      "N8", "responses and confirmations without a request or indication", "-",
      also: ["transcript ATT/PDU/SR/unasked", "transcript ATT/RESPONSE/CL/unasked"]),
    Attack(
      "N9", "a second indication before the confirmation", "-",
      also: ["transcript ATT/INDICATION/SR/one-at-a-time"]),
    Attack("N10", "pipelined requests", "-", also: ["transcript GATT/SR/GAR/BI-45-C"]),
    Attack(
      "N11", "a response after 29.9 s and after 30.1 s", "-",
      also: [
        "transcript ATT/TIMEOUT/CL/29.9s", "transcript ATT/TIMEOUT/CL/30.1s",
        "transcript ATT/TIMEOUT/SR/29.9s", "transcript ATT/TIMEOUT/SR/confirmed-29.9s",
        "transcript ATT/TIMEOUT/SR/confirmed-30.1s",
      ]),
    Attack(
      "N12", "the prepare queue exhausted, by one client and by many", "-",
      also: [
        "GATTTests/Hostile/HostileClientTests.swift: thePrepareQueueExhaustedByMany",
        "transcript ATT/ERROR/CL/0x09",
      ]),
    Attack(
      "N13", "the database changes while writes are prepared, and during discovery", "-",
      also: [
        "transcript GATT/SR/GAW/BI-41-C",
        "GATTTests/Client/DiscoverDatabaseTests.swift: databaseThatChangesInMidDiscovery",
      ]),
    Attack(
      "N14", "a request on an enhanced bearer before anything was negotiated", "-",
      also: ["AttoTests/BearerTests.swift: aServerThatDoesNotOfferThem"]),
    Attack("N15", "one enhanced bearer flooded while others are in use", "-"),
    Attack(
      "N16", "more enhanced bearers than allowed, at once and one after another", "-",
      noServer: "tested elsewhere, with channels",
      noClient: "tested elsewhere, with channels",
      also: [
        "AttoTests/BearerTests.swift: furtherChannelsAreClosed",
        "AttoTests/BearerTests.swift: atMostAsManyAsThePeerAccepts",
        "GATTTests/Session/SessionGroupClientTests.swift: bearersOfAConnectionAreLimited",
      ]),
    Attack("N17", "a response on another enhanced bearer than its request", "-"),
    Attack("N18", "duplicate responses, on one enhanced bearer and on two", "-"),
    Attack("N19", "a PDU longer than ATT_MTU of its enhanced bearer", "-"),
    Attack(
      "N20", "the channel of an enhanced bearer ends while writes are prepared", "-",
      also: ["GATTTests/Session/SessionGroupServerTests.swift: onePrepareQueue"]),
  ]
}
