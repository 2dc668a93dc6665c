// swift-tools-version: 6.3
import PackageDescription

/// Settings of every target.
let common: [SwiftSetting] = [
  .enableExperimentalFeature("Lifetimes"),
  .enableUpcomingFeature("ExistentialAny"),
]

/// Async functions run on the executor of their caller, which saves a hop. Those that need the loop
/// switch to it themselves.
let inheriting: [SwiftSetting] = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

extension Target {
  static func unitTests(_ name: String, _ dependencies: [Dependency]) -> Target {
    .testTarget(
      name: name, dependencies: dependencies + ["TestSupport"], path: "Tests/Unit/\(name)",
      swiftSettings: common)
  }

  /// A program for Apple's API.
  static func appleExample(_ name: String) -> Target {
    .executableTarget(
      name: name, dependencies: ["AttoCoreBluetooth"], path: "Sources/Apple/Examples/\(name)")
  }

  /// A program for Atto's own API. Built without our settings, as applications are.
  static func example(_ name: String, _ dependencies: [Dependency] = ["Atto"]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: "Sources/Examples/\(name)")
  }
}

/// Tests/System/Fuzz/run sets this: the fuzz targets are then a program that libFuzzer runs.
/// Otherwise they are a test that replays the saved inputs.
let isFuzzing = Context.environment["ATTO_FUZZING"] != nil

extension Target {
  static var fuzzTargets: Target {
    let tested: [Dependency] = [
      "AttoATT", "AttoGATT", "AttoSimulation", "AttoFormats", "AttoText", "AttoRadio",
      "AttoVirtualRadio", "AttoStore", "Atto", "AttoLinks", "AttoLinkTiming", "AttoConformance",
      "AttoESPHome", "AttoGateway", "AttoMQTT", "AttoStreams",
    ]
    let path = "Tests/System/Fuzz"
    return isFuzzing
      ? .executableTarget(
        name: "FuzzTargets", dependencies: tested, path: path,
        exclude: ["run", "dictionaries", "Replay"], swiftSettings: common)
      : .testTarget(
        name: "FuzzTargets", dependencies: tested + ["TestSupport"], path: path,
        exclude: ["run", "dictionaries", "Entry"], swiftSettings: common)
  }
}

let package = Package(
  name: "Atto",
  products: [
    .library(name: "Atto", targets: ["Atto"]),
    .library(name: "AttoTesting", targets: ["AttoTesting"]),
    .library(name: "AttoStore", targets: ["AttoStore"]),
    .library(name: "AttoGATT", targets: ["AttoGATT"]),
    .library(name: "AttoATT", targets: ["AttoATT"]),
    .library(name: "CoreBluetooth", targets: ["AttoCoreBluetooth"]),
    .library(name: "os", targets: ["AttoOS"]),
    .executable(name: "atto", targets: ["AttoCLI"]),
    .executable(name: "atto-gateway", targets: ["AttoGatewayCLI"]),
  ],
  targets: [
    // Core: the protocol, sans-IO. Imports nothing.
    .target(name: "AttoATT", path: "Sources/Core/ATT", swiftSettings: common),
    .target(
      name: "AttoGATT", dependencies: ["AttoATT"], path: "Sources/Core/GATT",
      swiftSettings: common),
    .target(name: "AttoHCI", path: "Sources/Core/HCI", swiftSettings: common),

    // System: what Linux offers.
    .target(name: "CAttoLinux", path: "Sources/System/CLinux"),
    .target(
      name: "AttoLinks", dependencies: ["AttoATT", "CAttoLinux"], path: "Sources/System/Links",
      swiftSettings: common),
    .target(
      name: "AttoEventLoop", dependencies: ["AttoATT", "CAttoLinux"],
      path: "Sources/System/EventLoop",
      swiftSettings: common + inheriting),
    .target(
      name: "AttoStreams",
      dependencies: ["AttoEventLoop", "AttoLinks", "CAttoLinux"], path: "Sources/System/Streams",
      swiftSettings: common + inheriting),

    // Radio: adapters, and the model of LE link timing.
    .target(
      name: "AttoLinkTiming", dependencies: ["AttoATT"], path: "Sources/Radio/LinkTiming",
      swiftSettings: common),
    .target(
      name: "AttoRadio",
      dependencies: ["AttoATT", "AttoLinks", "AttoEventLoop", "AttoLinkTiming", "CAttoLinux"],
      path: "Sources/Radio/Radio", swiftSettings: common + inheriting),
    .target(
      name: "AttoKernelRadio",
      dependencies: ["AttoHCI", "AttoLinks", "AttoEventLoop", "AttoRadio", "CAttoLinux"],
      path: "Sources/Radio/KernelRadio", swiftSettings: common + inheriting),
    .target(
      name: "AttoVirtualRadio",
      dependencies: [
        "AttoATT", "AttoLinks", "AttoEventLoop", "AttoLinkTiming", "AttoRadio", "CAttoLinux",
      ],
      path: "Sources/Radio/VirtualRadio", swiftSettings: common + inheriting),

    // Atto: the async API, and what is stored between runs.
    .target(
      name: "Atto",
      dependencies: [
        "AttoATT", "AttoGATT", "AttoLinks", "AttoEventLoop", "AttoLinkTiming", "AttoRadio",
        "AttoKernelRadio", "AttoVirtualRadio",
      ],
      path: "Sources/Atto/Atto", swiftSettings: common + inheriting),
    // Loads libsqlite3 at run time; nothing links with it.
    .target(
      name: "CAttoSQLite", path: "Sources/Atto/CSQLite", linkerSettings: [.linkedLibrary("dl")]),
    .target(
      name: "AttoStore",
      dependencies: [
        "Atto", "AttoEventLoop", "AttoGATT", "AttoKernelRadio", "AttoLinks", "CAttoSQLite",
        "CAttoLinux",
      ],
      path: "Sources/Atto/Store", swiftSettings: common),
    .target(
      name: "AttoSMP", dependencies: ["Atto", "AttoATT", "AttoEventLoop", "AttoGATT", "AttoRadio"],
      path: "Sources/Atto/SMP", swiftSettings: common),

    // Formats: text and JSON; profiles, transcripts, captures, assigned numbers.
    .target(
      name: "AttoText", dependencies: ["AttoATT"], path: "Sources/Formats/Text",
      swiftSettings: common),
    .target(
      name: "AttoFormats",
      dependencies: ["AttoATT", "AttoGATT", "AttoHCI", "AttoText", "CAttoTables"],
      path: "Sources/Formats/Formats", swiftSettings: common),
    // Sensor readings in advertisements.
    .target(
      name: "AttoSensors",
      dependencies: ["AttoATT", "AttoGATT", "AttoLinks", "AttoRadio", "AttoText"],
      path: "Sources/Formats/Sensors", swiftSettings: common),
    .target(
      name: "CAttoTables", path: "Sources/Formats/CTables",
      exclude: ["formats.txt", "generate.py", "names.txt"]),

    .target(
      name: "AttoProfileServer", dependencies: ["Atto", "AttoFormats"],
      path: "Sources/Formats/ProfileServer", swiftSettings: common),

    // Testing: for tests of applications, and conformance cases and hostile input for other stacks.
    .target(
      name: "AttoTesting",
      dependencies: [
        "Atto", "AttoATT", "AttoLinks", "AttoEventLoop", "AttoRadio", "AttoVirtualRadio",
        "AttoFormats",
      ],
      path: "Sources/Testing/AttoTesting", swiftSettings: common + inheriting),
    .target(
      name: "AttoConformance", dependencies: ["AttoATT", "AttoGATT", "AttoFormats"],
      path: "Sources/Testing/Conformance", swiftSettings: common),
    .target(
      name: "AttoFuzzing", dependencies: ["AttoATT", "AttoFormats", "AttoConformance"],
      path: "Sources/Testing/Fuzzing", swiftSettings: common),

    // Gateway: devices for networks.
    .target(
      name: "AttoGateway",
      dependencies: [
        "Atto", "AttoATT", "AttoEventLoop", "AttoFormats", "AttoText", "AttoGATT", "AttoLinks",
        "AttoRadio", "AttoSMP", "AttoSensors", "AttoStore", "AttoStreams", "CAttoLinux",
      ],
      path: "Sources/Gateway/Gateway", swiftSettings: common + inheriting),
    // The process of a connection to a broker. Loads libmosquitto at run time; nothing links with
    // it.
    .target(
      name: "CAttoMosquitto", path: "Sources/Gateway/CMosquitto",
      linkerSettings: [.linkedLibrary("dl")]),
    .target(
      name: "AttoMQTT",
      dependencies: [
        "Atto", "AttoATT", "AttoEventLoop", "AttoFormats", "AttoText", "AttoGATT", "AttoGateway",
        "AttoLinks", "AttoRadio", "AttoSensors",
        "AttoStore", "AttoStreams", "CAttoLinux", "CAttoMosquitto",
      ],
      path: "Sources/Gateway/MQTT", swiftSettings: common + inheriting),
    // Loads libsodium at run time; nothing links with it.
    .target(
      name: "CAttoSodium", path: "Sources/Gateway/CSodium", linkerSettings: [.linkedLibrary("dl")]),
    .target(
      name: "AttoESPHome",
      dependencies: [
        "Atto", "AttoATT", "AttoEventLoop", "AttoGATT", "AttoGateway", "AttoLinks", "AttoRadio",
        "AttoStreams", "AttoText", "CAttoSodium",
      ],
      path: "Sources/Gateway/ESPHome", swiftSettings: common + inheriting),
    .executableTarget(
      name: "AttoGatewayCLI",
      dependencies: [
        "Atto", "AttoESPHome", "AttoEventLoop", "AttoText", "AttoGateway", "AttoLinks",
        "AttoMQTT", "AttoStore", "AttoStreams", "CAttoLinux",
      ],
      path: "Sources/Gateway/atto-gateway", exclude: ["Packaging"],
      swiftSettings: common + inheriting),

    // Tools: programs, and libraries that only programs use.
    .target(
      name: "AttoDiagnosis",
      dependencies: [
        "AttoEventLoop", "AttoHCI", "AttoKernelRadio", "AttoLinks", "AttoRadio",
        "AttoVirtualRadio", "CAttoLinux",
      ],
      path: "Sources/Tools/Diagnosis", swiftSettings: common),
    .target(
      name: "AttoRelay",
      dependencies: [
        "Atto", "AttoATT", "AttoEventLoop", "AttoFormats", "AttoLinks", "AttoRadio",
      ],
      path: "Sources/Tools/Relay", swiftSettings: common + inheriting),
    // Loads libedit or readline at run time; nothing links with them.
    .target(
      name: "CLineEditor", path: "Sources/Tools/LineEditor", linkerSettings: [.linkedLibrary("dl")]),
    .target(
      name: "AttoCommandLine",
      dependencies: [
        "Atto", "AttoATT", "AttoEventLoop", "AttoFormats", "AttoText", "AttoGATT", "AttoLinkTiming",
        "AttoRadio", "AttoStore", "AttoVirtualRadio", "CAttoLinux", "CLineEditor",
      ],
      path: "Sources/Tools/CommandLine", swiftSettings: common),
    .target(
      name: "AttoPeers",
      dependencies: [
        "AttoCommandLine", "Atto", "AttoATT", "AttoDiagnosis", "AttoEventLoop", "AttoFormats",
        "AttoGATT", "AttoKernelRadio", "AttoLinks", "AttoLinkTiming", "AttoRadio", "AttoSensors",
        "AttoStore", "AttoText",
      ],
      path: "Sources/Tools/Peers", swiftSettings: common),
    .target(
      name: "AttoBench",
      dependencies: [
        "AttoCommandLine", "AttoPeers", "Atto", "AttoATT", "AttoEventLoop", "AttoFormats",
        "AttoText",
        "AttoGATT",
        "AttoLinkTiming", "AttoLinks", "AttoProfileServer", "AttoRadio", "CAttoLinux",
      ],
      path: "Sources/Tools/Bench", swiftSettings: common),
    .target(
      name: "AttoBTP",
      dependencies: [
        "AttoCommandLine", "Atto", "AttoATT", "AttoEventLoop", "AttoGATT", "AttoLinks", "AttoRadio",
        "AttoStore",
      ],
      path: "Sources/Tools/BTP", swiftSettings: common),
    .target(
      name: "AttoSessions",
      dependencies: [
        "AttoCommandLine", "AttoPeers", "Atto", "AttoATT", "AttoFormats", "AttoText", "AttoStore",
        "CAttoLinux",
        "CLineEditor",
      ],
      path: "Sources/Tools/Sessions", swiftSettings: common),
    .target(
      name: "AttoCommands",
      dependencies: [
        "AttoCommandLine", "AttoPeers", "Atto", "AttoATT", "AttoEventLoop", "AttoFormats",
        "AttoGATT",
        "AttoKernelRadio", "AttoLinkTiming", "AttoProfileServer", "AttoRadio", "AttoSensors",
        "AttoSMP", "AttoStore", "AttoText",
      ],
      path: "Sources/Tools/Commands", swiftSettings: common),
    .target(
      name: "AttoTestCommands",
      dependencies: [
        "AttoCommandLine", "AttoPeers", "Atto", "AttoATT", "AttoConformance", "AttoDiagnosis",
        "AttoFormats", "AttoFuzzing", "AttoGATT", "AttoLinks", "AttoRadio", "AttoRelay",
        "AttoSensors",
      ],
      path: "Sources/Tools/TestCommands", swiftSettings: common),
    .executableTarget(
      name: "AttoCLI",
      dependencies: [
        "AttoBTP", "AttoBench", "AttoCommandLine", "AttoCommands", "AttoPeers", "AttoSessions",
        "AttoTestCommands", "Atto", "AttoDiagnosis", "AttoEventLoop", "AttoGATT", "AttoLinkTiming",
        "AttoStore", "CAttoLinux",
      ],
      path: "Sources/Tools/atto", swiftSettings: common),

    // Apple: Apple's API. AttoCoreBluetooth is the one target that uses Foundation. The modules
    // CoreBluetooth, os and OSLog are Clang modules of CCoreBluetooth and COSLog, which re-export
    // those in Swift. Only targets that depend on a product see them: all Swift modules of a
    // package graph are in one folder, so a Swift module `os` would be found by targets of other
    // packages.
    .target(
      name: "AttoCoreBluetooth",
      dependencies: [
        "Atto", "AttoATT", "AttoEventLoop", "AttoFormats", "AttoGATT", "AttoLinks", "AttoRadio",
        "AttoStore", "CCoreBluetooth",
      ],
      path: "Sources/Apple/CoreBluetooth", swiftSettings: common),
    .target(name: "CCoreBluetooth", path: "Sources/Apple/CCoreBluetooth"),
    .target(name: "COSLog", path: "Sources/Apple/COSLog"),
    .target(
      name: "AttoOS", dependencies: ["COSLog"], path: "Sources/Apple/os", swiftSettings: common),
    .appleExample("HeartRatePeripheral"), .appleExample("HeartRateCentral"),
    .appleExample("TransferSender"), .appleExample("TransferReceiver"),
    .appleExample("ReconnectingLogger"), .appleExample("ChannelPublisher"),
    .appleExample("ChannelOpener"),

    // Programs for Atto's own API.
    .example("KeepConnected", ["Atto", "AttoStore"]), .example("Strap"),

    // Unit tests, and what they share.
    .target(
      name: "TestSupport", dependencies: ["AttoATT", "AttoGATT"], path: "Tests/Support/TestSupport",
      swiftSettings: common),
    .target(
      name: "AttoSimulation", dependencies: ["AttoATT", "AttoGATT", "AttoLinks"],
      path: "Tests/Support/Simulation", swiftSettings: common),
    .unitTests("ATTTests", ["AttoATT"]),
    .unitTests("GATTTests", ["AttoGATT", "AttoSimulation"]),
    .unitTests("HCITests", ["AttoHCI"]),
    .unitTests("SimulationTests", ["AttoSimulation", "AttoATT", "AttoGATT"]),
    .unitTests("EventLoopTests", ["AttoEventLoop", "CAttoLinux"]),
    .unitTests("LinksTests", ["AttoLinks", "AttoSimulation", "CAttoLinux"]),
    .unitTests("LinkTimingTests", ["AttoLinkTiming"]),
    .unitTests(
      "RadioTests",
      ["AttoRadio", "AttoKernelRadio", "AttoVirtualRadio", "AttoLinkTiming"]),
    .unitTests("DiagnosisTests", ["AttoDiagnosis", "AttoKernelRadio", "AttoRadio"]),
    .unitTests(
      "AttoTests",
      ["Atto", "AttoTesting", "AttoEventLoop", "AttoFormats", "AttoRelay", "AttoSimulation"]),
    // StoreTests kills this again and again while it writes records.
    .executableTarget(
      name: "StoreWorker", dependencies: ["AttoStore", "AttoLinks"], path: "Tests/Unit/StoreWorker",
      swiftSettings: common),
    // A disk that loses what was not synced.
    .target(
      name: "CPowerLoss", path: "Tests/Support/PowerLoss", linkerSettings: [.linkedLibrary("dl")]),
    .unitTests(
      "StoreTests", ["AttoStore", "StoreWorker", "CAttoSQLite", "CAttoLinux", "CPowerLoss"]),
    .unitTests(
      "FuzzingTests", ["AttoFuzzing", "AttoConformance", "AttoFormats", "AttoATT", "AttoGATT"]),
    .unitTests("ProfileServerTests", ["AttoProfileServer", "AttoFormats", "Atto"]),
    // The published attacks, each against both roles.
    .unitTests("AttackTests", ["AttoATT", "AttoGATT", "AttoSimulation", "Atto"]),
    .unitTests(
      "FormatsTests",
      ["AttoFormats", "AttoText", "AttoATT", "AttoGATT", "AttoSimulation", "CAttoTables"]),
    .unitTests("SMPTests", ["AttoSMP", "AttoATT"]),
    .unitTests("SensorsTests", ["AttoSensors", "AttoATT", "AttoGATT", "AttoLinks", "AttoRadio"]),
    .unitTests(
      "ConformanceTests",
      ["AttoConformance", "AttoFormats", "AttoATT", "AttoGATT", "AttoSimulation"]),
    .unitTests(
      "GatewayTests",
      [
        "AttoGateway", "AttoStreams", "AttoTesting", "Atto", "AttoEventLoop", "AttoFormats",
        "AttoLinks", "AttoRadio", "AttoStore", "AttoText", "CAttoLinux",
      ]),
    .unitTests(
      "MQTTTests",
      [
        "AttoMQTT", "AttoGateway", "AttoFormats", "AttoSensors", "AttoText", "AttoStore", "Atto",
        "AttoATT", "AttoTesting",
      ]),
    .unitTests(
      "CommandTests",
      [
        "AttoCLI", "AttoBTP", "AttoBench", "AttoCommandLine", "AttoConformance", "AttoPeers",
        "AttoTestCommands",
      ]),
    .unitTests(
      "ESPHomeTests",
      [
        "AttoESPHome", "AttoGateway", "AttoTesting", "AttoEventLoop", "AttoLinks", "AttoRadio",
        "AttoStreams", "CAttoLinux",
      ]),
    // Like the examples, these are built without our settings, as applications are.
    .testTarget(
      name: "OSLogTests", dependencies: ["AttoOS", "AttoCoreBluetooth", "TestSupport"],
      path: "Tests/Unit/OSLogTests"),
    .testTarget(
      name: "CoreBluetoothTests", dependencies: ["AttoCoreBluetooth", "Atto", "TestSupport"],
      path: "Tests/Unit/CoreBluetoothTests"),
    .testTarget(
      name: "AttoTestingTests", dependencies: ["Atto", "AttoTesting", "TestSupport"],
      path: "Tests/Unit/AttoTestingTests"),
    // Sources as tutorials for Apple's systems have them, in their language mode. They only have to
    // compile.
    .testTarget(
      name: "TutorialSources", dependencies: ["AttoCoreBluetooth"],
      path: "Tests/Unit/TutorialSources",
      swiftSettings: [.swiftLanguageMode(.v5)]),

    // Programs of the system tests.
    .fuzzTargets,
    .executableTarget(
      name: "simulate", dependencies: ["AttoSimulation"], path: "Tests/System/Simulate",
      swiftSettings: common),
    .executableTarget(
      name: "counts", dependencies: ["Atto", "AttoFormats"], path: "Tests/System/Counts/Program",
      swiftSettings: common),
    .executableTarget(
      name: "soak", dependencies: ["Atto", "AttoGATT", "AttoKernelRadio", "AttoStore"],
      path: "Tests/System/Soak/Program", swiftSettings: common),
  ],
  swiftLanguageModes: [.v6]
)

/// Tests/run sets this to names of test targets, separated by `|`, to build only those.
if let chosen = Context.environment["ATTO_TESTS"]?.split(separator: "|").map(String.init) {
  package.targets.removeAll { $0.type == .test && !chosen.contains($0.name) }
}
