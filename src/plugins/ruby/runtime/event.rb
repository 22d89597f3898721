# LogStash::Event: a copy of the fields, and a list of what was done to them, which Spillway does to the event.
require "json"

module LogStash
  class Event
    SET = 0
    REMOVE = 1
    TAG = 2
    PUT = 3
    REPLACE = 4
    TIMESTAMP = "@timestamp"
    METADATA = "@metadata"
    TAGS = "tags"

    # An event that came from Spillway: its values are not looked at.
    def self.received(fields, metadata)
      event = allocate
      event.receive(fields, metadata)
      event
    end

    def self.from_json(text)
      return [] if text.nil? || text.strip.empty?

      data = Json.load(text)
      items = data.is_a?(Array) ? data : [data]
      items.map do |item|
        raise Json::ParserError, "incompatible json object type=#{item.class}, only hash map or arrays are supported" \
          unless item.is_a?(Hash)

        new(item)
      end
    end

    attr_reader :operations

    def initialize(data = nil)
      raise TypeError, "wrong argument type #{data.class} (expected Hash)" unless data.nil? || data.is_a?(Hash)

      receive(Spillway::Values.plain(data || {}), {})
      take_metadata
      put_tags_right
      put_timestamp_right
      @fields["@version"] = "1" unless @fields.key?("@version")
    end

    def receive(fields, metadata)
      @fields = fields
      @metadata = metadata
      @operations = []
      @watched = nil
      @cancelled = false
    end

    def get(reference)
      field = Spillway::Reference.of(reference)
      value = field.find(root(field)) { return nil }
      case value
      when String
        (@watched ||= []) << [field, value, value.dup]
        value
      when Hash, Array then Spillway::Values.copy(value)
      else value
      end
    end

    def set(reference, value)
      field = Spillway::Reference.of(reference)
      kept = Spillway::Values.plain(value)
      check(field, value, kept) if field.guarded?
      if field.all_metadata?
        @metadata = kept
      else
        field.put(root(field), kept)
      end
      note(SET, field.text, kept)
      value
    end

    def include?(reference)
      field = Spillway::Reference.of(reference)
      return true if field.all_metadata?

      field.find(root(field)) { return false }
      true
    end
    alias includes? include?

    def remove(reference)
      field = Spillway::Reference.of(reference)
      note(REMOVE, field.text, nil)
      return field.delete(root(field)) unless field.all_metadata?

      gone = @metadata
      @metadata = {}
      gone
    end

    def cancel
      @cancelled = true
    end

    def uncancel
      @cancelled = false
    end

    def cancelled?
      @cancelled
    end

    def tag(tag)
      raise TypeError, "wrong argument type #{tag.class} (expected String)" unless tag.is_a?(String)

      tag = Spillway::Values.text(tag)
      old = @fields[TAGS]
      tags = old.is_a?(Array) ? old : [old].compact
      @fields[TAGS] = tags + [tag] unless tags.include?(tag)
      note(TAG, tag, nil)
      nil
    end

    def timestamp
      get(TIMESTAMP)
    end

    def timestamp=(value)
      set(TIMESTAMP, value)
    end

    def sprintf(template)
      text = Spillway::Values.text(template.to_s)
      return text unless text.include?("%{")

      Spillway::Wire.write(Spillway::Wire::RENDER, text, @fields, @metadata)
      Spillway::Wire.read
    end

    def to_hash
      Spillway::Values.copy(@fields)
    end

    def to_hash_with_metadata
      @metadata.empty? ? to_hash : to_hash.merge(METADATA => Spillway::Values.copy(@metadata))
    end

    def to_json(*)
      Json.dump(@fields)
    end

    def to_s
      host = @fields["host"]
      host = host["name"] if host.is_a?(Hash) && host["name"]
      "#{@fields[TIMESTAMP]} #{host || '%{host}'} #{@fields['message'] || '%{message}'}"
    end
    alias inspect to_s

    def clone
      self.class.received(Spillway::Values.copy(@fields), Spillway::Values.copy(@metadata))
    end
    alias dup clone

    def overwrite(other)
      @fields = other.to_hash
      note(REPLACE, "", @fields)
      clone
    end

    def append(other)
      other.to_hash.each do |name, value|
        value = unite(@fields[name], value) if @fields.key?(name)
        @fields[name] = value
        note(PUT, name, value)
      end
      self
    end


    # What was done, with the texts that the script changed in place.
    def finished
      @watched&.each do |field, text, before|
        next if text == before
        next unless field.find(root(field)) { nil }.equal?(text)

        note(SET, field.text, text)
      end
      @watched = nil
      @operations
    end

    def parts
      [@fields, @metadata]
    end

    private

    def note(kind, name, value)
      @operations.push(kind, name, value)
    end

    def root(field)
      field.metadata? ? @metadata : @fields
    end

    def check(field, given, kept)
      if field.all_metadata?
        raise TypeError, "@metadata takes a Hash, not #{given.class}" unless kept.is_a?(Hash)
      elsif field.top == TIMESTAMP && field.names.size == 1
        raise TypeError, "wrong argument type #{given.class} (expected LogStash::Timestamp)" \
          unless given.is_a?(Timestamp)
      elsif field.top == TAGS && (field.names.size > 1 || !Spillway::Values.tags?(kept))
        raise TypeError, "Could not set field 'tags': it takes a string or an array of strings"
      end
    end

    def unite(old, new)
      case
      when old.is_a?(Hash) && new.is_a?(Hash) then old.merge(new) { |_, mine, other| unite(mine, other) }
      when old.is_a?(Array) then old | (new.is_a?(Array) ? new : [new])
      when new.is_a?(Array) then [old] | new
      when old == new then old
      else [old, new]
      end
    end

    def take_metadata
      return unless @fields.key?(METADATA)

      metadata = @fields.delete(METADATA)
      if metadata.is_a?(Hash)
        @metadata = metadata
      else
        @fields["_@metadata"] = metadata
        tag("_metadataparsefailure")
      end
    end

    def put_tags_right
      return if !@fields.key?(TAGS) || Spillway::Values.tags?(@fields[TAGS])

      @fields["_tags"] = [@fields[TAGS]]
      @fields[TAGS] = ["_tagsparsefailure"]
    end

    def put_timestamp_right
      given = @fields[TIMESTAMP]
      @fields[TIMESTAMP] = Timestamp.coerce(given) || Timestamp.now
      return if given.nil? || Timestamp.coerce(given)

      @fields["_@timestamp"] = given
      tag("_timestampparsefailure")
    end
  end
end
