import AttoCommandLine
import AttoCommands
import AttoTestCommands

/// The subcommands, in the order of the overview.
enum AllCommands {
  typealias Types = [any (Command & SendableMetatype).Type]

  static let groups: [(title: String, types: Types)] = [
    (
      "client",
      [
        DiscoverCommand.self, ServicesCommand.self, IncludesCommand.self,
        CharacteristicsCommand.self, DescriptorsCommand.self, ReadCommand.self, WriteCommand.self,
        SubscribeCommand.self, RawCommand.self, SessionCommand.self, UpdateCommand.self,
      ]
    ),
    ("server", [ServeCommand.self]),
    (
      "radio",
      [
        AdaptersCommand.self, ScanCommand.self, AdvertiseCommand.self, PairCommand.self,
        UnpairCommand.self, BondsCommand.self, ChannelCommand.self,
      ]
    ),
    (
      "testing",
      [
        ConformCommand.self, PlayCommand.self, FuzzCommand.self, CaptureCommand.self,
        DecodeCommand.self, ExtcapCommand.self, BTPCommand.self,
      ]
    ),
    ("measuring", [BenchCommand.self, LinkCommand.self]),
    (
      "first steps and help",
      [DemoCommand.self, DoctorCommand.self, CompletionCommand.self, ManCommand.self]
    ),
  ]

  static let types: Types = groups.flatMap(\.types)

  static var descriptions: [CommandDescription] { types.map { $0.description } }
}
